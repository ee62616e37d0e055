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
	"prywalk/internal/testtargets/bounded"
	"prywalk/internal/watch/target"
)

const (
	// unknown has no call frame information, and its frame's size is known to its memory only.
	unknownFrame = `
long saved;
long work(long n) { long x = 0; for (long i = 0; i < n; i++) x += i % 7; return x; }
__asm__(".text\n.globl unknown\n.type unknown,@function\nunknown:\n"
	"mov %rsp, saved(%rip)\nmov saved(%rip), %rcx\nsub $64, %rcx\nmov %rcx, %rsp\n"
	"call work\nmov saved(%rip), %rsp\nret\n.size unknown, .-unknown\n");
long unknown(long n);
`
	calledByMain = unknownFrame + `
#include <stdio.h>
int main(void) { puts("ready"); fflush(stdout); for (;;) unknown(100000); }
`
	calledByRoot = unknownFrame + `
__asm__(".text\n.globl _start\n.type _start,@function\n_start:\n"
	"mov $1, %eax\nmov $1, %edi\nlea text(%rip), %rsi\nmov $6, %edx\nsyscall\n" // write(1, text, 6)
	"again: mov $100000, %edi\ncall unknown\njmp again\n.size _start, .-_start\ntext: .ascii \"ready\\n\"\n");
`
)

func TestStacksWithGuessedFramesEndSo(t *testing.T) {
	r := recordUnknownFrame(t, calledByMain, incomplete.Guessed)
	if got, want := r.GuessedCPU, float64(workCPU(r))/1e9; got < want/2 || got > r.ProfiledCPU {
		t.Errorf("%v s with guessed frames of %v, want about %v", got, r.ProfiledCPU, want)
	}
}

// In programs that are linked with musl, the code before main has no call frame information.
func TestAGuessThatIsTheRootIsNone(t *testing.T) {
	r := recordUnknownFrame(t, calledByRoot, "_start", "-nostdlib", "-static")
	if r.GuessedCPU != 0 {
		t.Errorf("%v s with guessed frames of %v, want 0", r.GuessedCPU, r.ProfiledCPU)
	}
}

func workCPU(r *recorded) (cpu int64) {
	for _, s := range r.Sample {
		if st := stack(s); len(st) > 0 && st[0] == "work" {
			cpu += s.Value[3]
		}
	}
	return cpu
}

// recordUnknownFrame demands that the stacks of work, called by unknown, end in a frame of this name.
func recordUnknownFrame(t *testing.T, code, last string, flags ...string) *recorded {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("x86-64 assembly")
	}
	source := filepath.Join(t.TempDir(), "unknown.c")
	if err := os.WriteFile(source, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "unknown")
	flags = append(flags, "-O1", "-no-pie", "-o", program, source)
	if out, err := bounded.AllOutput(exec.Command("cc", flags...)); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command(program)
	testtargets.Ready(t, cmd)
	r := recordUntil(t, target.SamplingOptions{}, func(r *recorded) bool { return workCPU(r) > 0 }, cmd.Process.Pid)
	for _, s := range r.Sample {
		if st := stack(s); len(st) > 0 && st[0] == "work" && (len(st) < 3 || st[1] != "unknown" || st[len(st)-1] != last) {
			t.Errorf("%v, want it to end in %s", st, last)
		}
	}
	if n := len(r.Incomplete); n != 0 {
		t.Errorf("incomplete: %v", r.Incomplete)
	}
	return r
}
