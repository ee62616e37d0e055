// SPDX-License-Identifier: Apache-2.0

package testtargets

import "testing"

// A goroutine is in code made at run time, as WebAssembly that was compiled without cgo: an own function in assembly
// jumps there. The code loops, on the goroutine's stack or, with an argument, on another one.
const goLeaves = `package main

import (
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"
)

func leave(code, stack uintptr)

//go:noinline
func enter(code, stack uintptr) { leave(code, stack); println() }

//go:noinline
func work(code, stack uintptr) { enter(code, stack); println() }

func main() {
	const anonymous = syscall.MAP_PRIVATE | syscall.MAP_ANON
	code, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, anonymous)
	if err != nil {
		panic(err)
	}
	// sub $40, %rsp; xor %ebp, %ebp; 0: jmp 0b
	text, stack := []byte{0x48, 0x83, 0xec, 40, 0x31, 0xed, 0xeb, 0xfe}, uintptr(0)
	if len(os.Args) > 1 {
		other, err := syscall.Mmap(-1, 0, 1<<16, syscall.PROT_READ|syscall.PROT_WRITE, anonymous)
		if err != nil {
			panic(err)
		}
		stack = uintptr(unsafe.Pointer(&other[1<<15]))
		text = append([]byte{0x48, 0x89, 0xdc}, text...) // mov %rbx, %rsp
	}
	copy(code, text)
	if err := syscall.Mprotect(code, syscall.PROT_READ|syscall.PROT_EXEC); err != nil {
		panic(err)
	}
	go work(uintptr(unsafe.Pointer(&code[0])), stack)
	fmt.Println("ready")
	time.Sleep(time.Hour)
}
`

const goLeavesAssembly = `#include "textflag.h"

TEXT ·leave(SB), NOSPLIT|NOFRAME, $0-16
	MOVQ code+0(FP), AX
	MOVQ stack+8(FP), BX
	JMP AX
`

// BuildGoThatLeaves builds a program whose function main.enter runs code without rules, for x86-64.
func BuildGoThatLeaves(t testing.TB) string {
	t.Helper()
	return Compiled{
		Name: "leaves",
		Texts: map[string]string{
			"main.go": goLeaves, "leave_amd64.s": goLeavesAssembly, "go.mod": "module leaves\n\ngo 1.22\n",
		},
		Env:     []string{"CGO_ENABLED=0", "GOWORK=off", "GOARCH=amd64"},
		Command: []string{"go", "build", "-o", "OUT", "."},
	}.Build(t)
}
