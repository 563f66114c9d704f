// Package config holds everything that can be configured: one struct, its
// defaults, where each value comes from (file, environment, command line) and
// what it may be.
//
// It is the only package that reads the environment. It promises to be complete
// about errors: a wrong configuration is refused with every problem at once, each
// naming key, value, source and allowed range. It promises not to act: it opens no
// connection, and workflows never see it (they get plain values as parameters).
package config
