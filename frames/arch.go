// SPDX-License-Identifier: Apache-2.0

package frames

// Addr is a run-time address: one in the walked process.
type Addr = uint64

// ModuleAddr is an address in a module's own terms, as in its ELF file: a run-time address − [Module.Bias].
type ModuleAddr = uint64

// Arch is a processor architecture.
type Arch uint8

// The zero value is invalid. Code about arm64 for any machine is in _aarch64.go: go build ignores _arm64.go elsewhere.
const (
	ArchUnknown Arch = iota
	X86_64
	ARM64
)

// DWARF register numbers: System V ABI for x86-64, figure 3.36; "DWARF for the Arm 64-bit Architecture", §4.1.
const (
	X86RAX uint8 = 0
	X86RDX uint8 = 1
	X86RCX uint8 = 2
	X86RBX uint8 = 3
	X86RSI uint8 = 4
	X86RDI uint8 = 5
	X86RBP uint8 = 6
	X86RSP uint8 = 7
	X86R8  uint8 = 8
	X86R12 uint8 = 12
	X86R13 uint8 = 13
	X86R14 uint8 = 14
	X86R15 uint8 = 15
	X86RA  uint8 = 16 // column of the return address

	NoReg uint8 = 0xff // none

	ARM64FP uint8 = 29
	ARM64LR uint8 = 30
	ARM64SP uint8 = 31
)

// String returns GOARCH's name.
func (a Arch) String() string {
	switch a {
	case X86_64:
		return "amd64"
	case ARM64:
		return "arm64"
	}
	return "unknown"
}

type archInfo struct {
	sp, fp      uint8
	ra          uint8 // column of the return address: 16 on x86-64, the link register x30 on arm64
	compact     [NumCompact]uint8
	calleeSaved uint64 // a bit for each DWARF number
	raOnStack   bool   // a call pushes the return address, at CFA − 8 by default
	// signalFrame bounds the kernel's data for a signal handler, in bytes: 11 KiB with AMX (fpu__get_fpstate_size,
	// arch/x86/kernel/fpu/signal.c), 84 KiB with SME (setup_sigframe_layout, arch/arm64/kernel/signal.c).
	signalFrame Addr
}

var archs = [...]archInfo{
	X86_64: {
		sp: X86RSP, fp: X86RBP, ra: X86RA,
		compact:     [NumCompact]uint8{X86RBP, X86RBX, X86R12, X86R13, X86R14, X86R15, NoReg, NoReg},
		calleeSaved: 1<<X86RBP | 1<<X86RBX | 1<<X86R12 | 1<<X86R13 | 1<<X86R14 | 1<<X86R15,
		raOnStack:   true, signalFrame: 16 << 10,
	},
	ARM64: {
		sp: ARM64SP, fp: ARM64FP, ra: ARM64LR,
		compact:     [NumCompact]uint8{ARM64FP, ARM64LR, 19, 20, 21, 22, 23, 24},
		calleeSaved: 0x7ff << 19, // x19 to x29

		signalFrame: 128 << 10,
	},
}

func (a Arch) info() *archInfo {
	if int(a) < len(archs) {
		return &archs[a]
	}
	return &archs[ArchUnknown]
}

// SP returns the DWARF number of the stack pointer.
func (a Arch) SP() uint8 { return a.info().sp }

// FP returns the DWARF number of the ABI's frame pointer (rbp, x29).
func (a Arch) FP() uint8 { return a.info().fp }

// CalleeSaved returns a bit for each DWARF number: rbx, rbp and r12–r15, or x19–x29.
func (a Arch) CalleeSaved() uint64 { return a.info().calleeSaved }

// CompactRegs returns the registers of [Rule.Saved].
func (a Arch) CompactRegs() [NumCompact]uint8 { return a.info().compact }

// CallLen is subtracted from a return address to get one within its call.
func (a Arch) CallLen() uint64 {
	if a == ARM64 {
		return 4
	}
	return 1
}

// lookupPC returns the address to search tables for: pc, or one within the call before it: an [Addr] or [ModuleAddr].
func (a Arch) lookupPC(pc uint64, afterCall bool) uint64 {
	if afterCall {
		return pc - a.CallLen()
	}
	return pc
}
