// Package secrecy reads keys and certificates from files, again when they change, encrypts
// payloads for Temporal, and decrypts them for people.
//
// No error and no log line contains any part of a secret. A file that cannot be read changes
// nothing: the value before stays in use.
package secrecy
