// Command lifeboat is the controller, which watches Karmada and signals workflows
// (lifeboat controller), and the operator's command line: status, plan, pause, drain.
//
// It decides nothing about failovers: what it sees goes to workflows as signals,
// what people order as updates, each with who and why.
//
// Exit codes: 0 done, 1 failed (a server did not answer, or said no), 2 wrong
// usage or configuration, 3 what was named does not exist, 4 refused.
package main
