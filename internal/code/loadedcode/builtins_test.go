// SPDX-License-Identifier: Apache-2.0

package loadedcode

import (
	"os"
	"path/filepath"
	"testing"

	"prywalk/frames"
	"prywalk/internal/code/elffile"
)

const blob = `
	.text
	.globl main
main:	xor %eax, %eax
	ret
v8_Default_embedded_blob_code_:
Builtins_Inside:
	push %rbp
	mov %rsp, %rbp
	call main
in:	xor %ebx, %ebx
	mov %rbp, %rsp
	pop %rbp
	pop %rcx
	.byte 0x48, 0x03, 0xe0 # add %rax, %rsp, as V8 has it
	push %rcx
	ret
	.size Builtins_Inside, . - Builtins_Inside
	.type Builtins_Inside, @function
blob_end:
Outside:
	push %rbp
	mov %rsp, %rbp
	call main
out:	xor %ebx, %ebx
	mov %rbp, %rsp
	pop %rbp
	ret
	.size Outside, . - Outside
	.type Outside, @function
	.section .rodata
v8_Default_embedded_blob_code_size_:
	.long blob_end - v8_Default_embedded_blob_code_
	.section .note.GNU-stack,"",@progbits
`

func embeddedParts(t *testing.T, flags ...string) (*fileRules, map[string]uint64) {
	t.Helper()
	dir := t.TempDir()
	src, exe := filepath.Join(dir, "blob.s"), filepath.Join(dir, "blob")
	if err := os.WriteFile(src, []byte(blob), 0o600); err != nil {
		t.Fatal(err)
	}
	tool(t, append([]string{"gcc", "-o", exe, src}, flags...)...)
	f := openELF(t, exe)
	at := map[string]uint64{}
	syms, _ := f.Symbols(elffile.SymTab)
	for i := range syms {
		at[f.SymbolName(elffile.SymTab, &syms[i])] = syms[i].Value
	}
	p := &fileRules{}
	p.prepare(&fileSymbols{elf: f})
	return p, at
}

func TestEmbeddedBuiltinsOfV8KeepTheFramePointerOnly(t *testing.T) {
	p, at := embeddedParts(t)
	for name, want := range map[string]bool{"Builtins_Inside": true, "in": true, "blob_end": false, "out": false,
		"main": false} {
		if got := p.SavesFPOnly(at[name]); got != want {
			t.Errorf("%s: SavesFPOnly is %v, want %v", name, got, want)
		}
	}
	r, row, ok := p.code.Rule(frames.Query{PC: at["in"], AfterCall: true})
	if !ok || r.CFAReg != frames.X86RBP || r.Method != frames.MethodFP || row == nil || row.CFAOff != 16 ||
		row.Regs[frames.X86RBX].Kind != frames.RuleUndefined {
		t.Errorf("in the builtin: rule %+v, %+v, %v; want rbp+16 with rbx unknown", r, row, ok)
	}
	if p, _ := embeddedParts(t, "-s"); p.SavesFPOnly(at["in"]) {
		t.Error("without symbols SavesFPOnly is true")
	}
}
