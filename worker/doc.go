// Command lifeboat-worker hosts Lifeboat's workflows and activities. It is stateless: run any
// number of workers, and stop any of them at any time.
//
// It starts only where it can do its work: it checks namespace, search attributes, rules and
// permissions, and says what is missing and how to get it. In enforce beside a second evictor it
// starts, but begins no new eviction: it restores, releases and untaints earlier ones.
//
// Exit codes: 0 stopped normally, 1 failed, 2 wrong flags or configuration.
package main
