package sampler

import (
	"prywalk/internal/look"
	"prywalk/internal/profile"
)

// KernelRef is the Data of the module that the kernel's frames belong to.
type KernelRef struct{}

// kernelModule is the kernel as a module of the recording: the upper half of all addresses.
var kernelModule = &profile.ModuleInfo{Start: 1 << 63, End: ^uint64(0), Path: "[kernel]", Data: KernelRef{}}

// kernelFrames puts the kernel's frames of a shot inside of the user's.
func (u *unwinder) kernelFrames(s *look.Shot) {
	for i, addr := range s.Kernel {
		if i > 0 {
			addr-- // a return address: its call may be the function's last instruction
		}
		if addr >= kernelModule.Start {
			u.stack = append(u.stack, u.kernelLocation(addr))
		}
	}
}

// kernelLocation gives the number of an address in the kernel.
func (u *unwinder) kernelLocation(addr uint64) profile.LocID {
	id, ok := u.kernel[addr]
	if !ok {
		if u.kernel == nil || len(u.kernel) >= maxKernel {
			u.kernel = map[uint64]profile.LocID{}
		}
		id = u.builder.Loc(&profile.Loc{Module: kernelModule, Addr: addr})
		u.kernel[addr] = id
	}
	return id
}

// maxKernel bounds how many of the kernel's addresses are remembered.
const maxKernel = 1 << 14
