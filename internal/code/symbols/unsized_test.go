// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"prywalk/internal/testtargets"
	"prywalk/internal/testtargets/bounded"
)

// What follows an exported function in musl has no symbol once the library is stripped.
const hiddenAfterUnsized = `
	.text
	.globl	clear
	.type	clear, @function
clear:
	testl	%edi, %edi
	je	2f
	jmp	3f
1:	ret
2:	ret
3:	decl	%edi
	jne	3b
	jmp	1b
hidden:
	syscall
	ret
	.section .note.GNU-stack,"",@progbits
`

func TestAnExportedSymbolWithoutASizeEndsWithItsCode(t *testing.T) {
	gcc := need(t, "gcc")
	out, _ := bounded.Output(exec.Command(gcc, "-dumpmachine"))
	testtargets.Need(t, strings.HasPrefix(string(out), "x86_64"), "a compiler for x86-64", "another machine")
	dir := t.TempDir()
	source := write(t, dir, "a.s", hiddenAfterUnsized)
	names := func(flags ...string) string {
		lib := filepath.Join(dir, "a.so")
		run(t, dir, append([]string{gcc}, append(flags, "-shared", "-nostdlib", "-o", lib, source)...)...)
		table := openTable(t, lib)
		at := table.symbols().syms[0].addr
		hidden := at + 14
		return fmt.Sprint(table.Frames(hidden-1, nil)[0].Name, " ", len(table.Frames(hidden, nil)),
			len(table.Frames(hidden+2, nil)))
	}
	if got := names("-s"); got != "clear 0 0" {
		t.Errorf("stripped: the last byte of clear, and of frames in what follows it: %s, want clear 0 0", got)
	}
	if got := names(); got != "clear 1 1" {
		t.Errorf("with symbols: %s, want clear 1 1", got)
	}
}

func TestSizeOfAFunctionBehindItsLastJump(t *testing.T) {
	for _, c := range []struct {
		name, code string
		want       uint32
	}{
		{"ret", "\x90\xc3\x90\x90", 2},
		{"ret within the reach of a jump", "\x74\x01\xc3\xf4\x90\x90", 4},
		{"of a jump of 32 bits", "\x0f\x84\x01\x00\x00\x00\xc3\xc3\x90", 8},
		{"a jump out of it", "\x74\x01\xc3\xeb\x40\x90", 5},
		{"a jump back", "\x90\xeb\xfd\x90", 3},
		{"a jump through a table", "\xff\xe0\xc3\x90", 4},
		{"no end", "\x90\x90\x90\x90", 4},
		{"no instruction", "\x06\xc3\x90\x90", 4},
	} {
		if got := functionSize([]byte(c.code), uint32(len(c.code))); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func FuzzFunctionSize(f *testing.F) {
	f.Add([]byte("\x74\x01\xc3\xf4\x90"), uint32(5))
	f.Add([]byte("\x0f\x84\xff\xff\xff\x7f\xc3"), uint32(1<<14))
	f.Fuzz(func(t *testing.T, code []byte, limit uint32) {
		limit = max(limit, uint32(len(code)))
		if got := functionSize(code, limit); got > limit || got == 0 && limit > 0 {
			t.Errorf("%d of at most %d", got, limit)
		}
	})
}
