#!/bin/sh
# Says what of the toolchain is missing or too old; silent when all is well.
set -u

need=1.26.8
wrong=0
say() {
	echo "toolchain: $*" >&2
	wrong=1
}

if ! command -v go >/dev/null 2>&1; then
	say "go is not on the PATH; install Go $need or newer from https://go.dev/dl"
else
	have=$(go env GOVERSION 2>/dev/null | sed 's/^go//; s/[^0-9.].*//')
	oldest=$(printf '%s\n%s\n' "$need" "$have" | sort -t. -k1,1n -k2,2n -k3,3n | head -n 1)
	if [ "$oldest" != "$need" ]; then
		say "go is version ${have:-unknown}, Lifeboat needs $need or newer; install it from https://go.dev/dl"
	fi
fi
command -v gcc >/dev/null 2>&1 || say "gcc is not on the PATH; install it (Debian: apt install gcc libc6-dev)"
command -v git >/dev/null 2>&1 || say "git is not on the PATH; install it (Debian: apt install git)"
exit $wrong
