// Command demo shows one failover after the other on real servers and has the laboratory's ledger
// judge them: member1 dies and is evacuated; member2 dies and comes back half-way, so that what had
// not moved stays and what had no place yet is put back; then member1 comes back too.
//
// It drives the laboratory and Lifeboat as processes, through their command lines, and shares no code
// with the product. Whatever happens, it stops everything that it started. Exit codes: 0 the ledger
// agrees, 1 it does not or something failed.
package main
