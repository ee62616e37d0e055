// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

// The text is on the stack, but not in the program's file, where each byte is one less.
const secretHolder = `
#include <unistd.h>
int main(void) {
  volatile char secret[64];
  const char *hidden = "ghccdm,vnqc,ne,sgd,oqnne,ne,sghr";
  for (int i = 0; i < 32; i++) secret[i] = hidden[i] + 1;
  write(1, "ready\n", 6);
  for (volatile long sum = 0;; sum++) secret[40] = secret[sum % 32];
}
`

func TestStackBytesAreInNoFile(t *testing.T) {
	dir := t.TempDir()
	source, exe := filepath.Join(dir, "secret.c"), filepath.Join(dir, "holder")
	if err := os.WriteFile(source, []byte(secretHolder), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := bounded.AllOutput(exec.Command("cc", "-O0", "-o", exe, source)); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command(exe)
	testtargets.Ready(t, cmd)
	pid := strconv.Itoa(cmd.Process.Pid)
	file := func(name string) string { return filepath.Join(dir, name) }
	run := func(args ...string) []byte {
		out, err := bounded.AllOutput(exec.Command(binary, args...))
		if err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
		return out
	}
	all := run("record", "-p", pid, "-d", "0.5", "-o", file("r.gz"), "--stats", file("stats"), "--engine", "ptrace")
	all = append(all, run("dump", "-p", pid, "--json")...)
	all = append(all, run("report", "--json", "--tree", file("r.gz"))...)
	run("report", "--html", file("page"), file("r.gz"))
	for _, name := range []string{"r.gz", "stats", "page"} {
		raw, err := os.ReadFile(file(name))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, raw...)
		if z, err := gzip.NewReader(bytes.NewReader(raw)); err == nil {
			raw, _ = io.ReadAll(z)
			all = append(all, raw...)
		}
	}
	for _, part := range []string{"hidden-word", "word-of-the", "the-proof", "of-this"} {
		if bytes.Contains(all, []byte(part)) {
			t.Errorf("%q of the target's stack is in prywalk's output", part)
		}
	}
}
