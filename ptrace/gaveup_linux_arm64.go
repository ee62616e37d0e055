package ptrace

import "encoding/binary"

// amends: what a call needs to be begun again is mostly lost, as the result lies where its first argument was. So a
// call that gave up is known by its number and result, and gives the error to the program.
//
//go:nosplit
func (c *Controller) amends(tid int) amends {
	w := &c.raw
	nr := int64(w[armX8])
	switch {
	case w[0] == resultEINTR && (nr == 47 || nr == 225 || nr == 29): // fallocate, swapoff, ioctl
	case w[0] == resultEAGAIN && nr == 280: // bpf
	default:
		return amendNone
	}
	var insn [4]byte
	if readVM(tid, w[armPC]-4, insn[:]) != 4 || binary.LittleEndian.Uint32(insn[:]) != svcInstruction {
		return amendNone // these are a program's own values
	}
	return amendNothing
}

//go:nosplit
func (c *Controller) beginAgain(*Look) bool { return false }
