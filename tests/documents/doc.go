// Package documents finds every command that the documentation says to type, and holds
// what becomes of each where it is run: on the lab's real servers, by the end-to-end
// story "documents", or by another test or make target that is named here.
//
// A command without a row in the table fails this package's test, and so does a row
// whose command no document has. It runs nothing itself. It also holds the order and the
// API servers of the quickstart, and that the reference of annotations is complete.
package documents
