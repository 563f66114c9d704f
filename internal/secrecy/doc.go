// Package secrecy keeps secrets: it reads keys and certificates from files, again
// whenever these change, encrypts what goes to Temporal, and decrypts it for people.
//
// It promises that no error and no log line of it contains anything of a secret, and
// that a file which cannot be read or understood changes nothing: what was read before
// holds on.
package secrecy
