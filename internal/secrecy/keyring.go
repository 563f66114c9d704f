package secrecy

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// keyring is a file of keys: the first encrypts, all decrypt.
type keyring struct {
	first string
	by    map[string]cipher.AEAD
}

var keyName = regexp.MustCompile(`^[A-Za-z0-9][-._A-Za-z0-9]{0,62}$`)

// keySize is that of AES-256, in bytes.
const keySize = 32

func readKeyring(path string) (keyring, error) {
	content, err := os.ReadFile(path) //nolint:gosec // the path is the configuration's
	if err != nil {
		return keyring{}, err
	}
	ring := keyring{by: map[string]cipher.AEAD{}}
	for n, line := range strings.Split(string(content), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := ring.add(line); err != nil {
			return keyring{}, fmt.Errorf("line %d of %s: %w", n+1, path, err)
		}
	}
	if ring.first == "" {
		return keyring{}, fmt.Errorf("%s has no key", path)
	}
	return ring, nil
}

// add reads one line. Its error shows no part of the line: even a name may be a misplaced key.
func (k *keyring) add(line string) error {
	fields := strings.Fields(line)
	if len(fields) != 2 || !keyName.MatchString(fields[0]) {
		return errors.New("want a name of up to 63 of a-z, A-Z, 0-9, ., _ and -, and a key in base64")
	}
	name := fields[0]
	secret, err := base64.StdEncoding.DecodeString(fields[1])
	if err != nil || len(secret) != keySize {
		return fmt.Errorf("want a key of %d bytes in base64", keySize)
	}
	if k.by[name] != nil {
		return errors.New("another line has this name")
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return err
	}
	sealer, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return err
	}
	k.by[name] = sealer
	if k.first == "" {
		k.first = name
	}
	return nil
}
