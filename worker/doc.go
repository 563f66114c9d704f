// Command lifeboat-worker hosts Lifeboat's workflows and activities. It is
// stateless: run as many as you like, stop any of them at any time.
//
// It promises to start only where it can do its work: it checks namespace, search
// attributes, rules and permissions first and says what is missing and how to get
// it. In enforce beside a second evictor it starts and begins no new eviction: it
// restores, releases and untaints what has begun.
//
// Exit codes: 0 stopped in good order, 1 failed, 2 wrong flags or configuration.
package main
