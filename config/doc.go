// Package config has everything that can be configured: one struct, its defaults, the sources
// of each value (file, environment, command line) and the allowed values.
//
// It is the only package that reads the environment. It refuses a wrong configuration with every
// problem at once, each with key, value, source and allowed range. It opens no connection, and
// workflows never see it: they get plain values as parameters.
package config
