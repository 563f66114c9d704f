// Command lifeboat watches Karmada and tells workflows what it sees (lifeboat
// watch), and is the operator's hand: setup, status, pause, resume, cancel, config.
//
// It decides nothing about failovers: what it sees goes to workflows as signals,
// what people order as updates, each with who and why.
//
// Exit codes: 0 done, 1 failed (a server did not answer, or said no), 2 wrong
// usage or configuration, 3 what was named does not exist, 4 refused.
package main
