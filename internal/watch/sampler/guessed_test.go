// SPDX-License-Identifier: Apache-2.0

package sampler

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"prywalk/internal/base/incomplete"
	"prywalk/internal/testtargets"
)

// unknown has no call frame information, and its frame's size is known to its memory only.
const unknownFrame = `
#include <stdio.h>
long saved;
long work(long n) { long x = 0; for (long i = 0; i < n; i++) x += i % 7; return x; }
__asm__(".text\n.globl unknown\n.type unknown,@function\nunknown:\n"
	"mov %rsp, saved(%rip)\nmov saved(%rip), %rcx\nsub $64, %rcx\nmov %rcx, %rsp\n"
	"call work\nmov saved(%rip), %rsp\nret\n.size unknown, .-unknown\n");
long unknown(long n);
int main(void) { puts("ready"); fflush(stdout); for (;;) unknown(100000); }
`

func TestStacksWithGuessedFramesEndSo(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("x86-64 assembly")
	}
	source := filepath.Join(t.TempDir(), "unknown.c")
	if err := os.WriteFile(source, []byte(unknownFrame), 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "unknown")
	if out, err := exec.Command("cc", "-O1", "-no-pie", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command(program)
	testtargets.Ready(t, cmd)
	guessed := func(r *recorded) (cpu int64) {
		for _, s := range r.Sample {
			switch st := stack(s); {
			case len(st) < 3 || st[0] != "work":
			case st[1] != "unknown" || st[len(st)-1] != incomplete.Guessed:
				t.Errorf("%v, want it to end in %s", st, incomplete.Guessed)
			default:
				cpu += s.Value[3]
			}
		}
		return cpu
	}
	r := recordUntil(t, Options{}, func(r *recorded) bool { return guessed(r) > 0 }, cmd.Process.Pid)
	if got, want := r.GuessedCPU, float64(guessed(r))/1e9; got < want/2 || got > r.ProfiledCPU {
		t.Errorf("%v s with guessed frames of %v, want about %v", got, r.ProfiledCPU, want)
	}
	if n := len(r.Incomplete); n != 0 {
		t.Errorf("incomplete: %v", r.Incomplete)
	}
}
