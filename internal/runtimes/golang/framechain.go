// SPDX-License-Identifier: Apache-2.0

package golang

import "prywalk/frames"

// # Frame records
//
// On x86-64 a Go function with a frame stores rbp at CFA−16 and points rbp there (cmd/internal/obj/x86/obj6.go,
// preprocess). At a call pcsp gives the distance of records:
//
//	record of a call's target:  [ rbp of the caller │ return address into it ]   its CFA = the caller's rsp
//	record of the caller:       its CFA − 16 = the caller's rsp + delta − 8
//
// Since Go 1.20 systemstack has its record on the goroutine's stack; calls on the scheduler's point to it. morestack
// clears rbp.
//
// A kernel sample copies one stack. The kernel's chain of frame pointers leads from the scheduler's to the
// goroutine's: a walk uses its return address if the frame lies where Go's tables say.

const recordEntries = 1 << 10

type recordStep struct {
	pc    uint64 // in the file; 0: empty
	apart int32  // −1: unknown, 0: outermost
}

type frameRecords struct {
	*rules
	known *[recordEntries]recordStep
}

// NextRecords implements [managed.Scheduler].
func (r *Runtime) NextRecords(record frames.Addr, returns []uint64, out []frames.Addr) []frames.Addr {
	for _, ret := range returns {
		apart := r.program.table.records.apart(ret - r.program.bias)
		if apart < 0 {
			return out
		}
		if apart == 0 {
			return append(out, 0)
		}
		record += uint64(apart)
		out = append(out, record)
	}
	return out
}

// apart returns the bytes from the record with return address ret to the caller's; 0: an outermost function, −1:
// none.
func (r *frameRecords) apart(ret uint64) int32 {
	if r.known == nil {
		r.known = new([recordEntries]recordStep)
	}
	s := &r.known[ret*0x9e3779b97f4a7c15>>54]
	if s.pc != ret || ret == 0 {
		*s = recordStep{ret, r.decode(ret)}
	}
	return s.apart
}

func (r *frameRecords) decode(ret uint64) int32 {
	f, ok := r.find(ret - 1)
	if !ok || r.img.Arch != frames.X86_64 {
		return -1
	}
	rule, row, ok := r.Rule(frames.Query{PC: ret, AfterCall: true})
	switch {
	case !ok || row != nil:
		return -1
	case rule.Flags == frames.FlagRoot:
		return 0
	}
	_, spWrite := r.kind(&f)
	plain := rule.Flags == 0 && rule.CFAReg == frames.X86RSP && rule.CFAOff > 0 &&
		rule.Saved == [frames.NumCompact]uint8{2}
	if spWrite || !plain || !r.pointsToRecord(&f) {
		return -1
	}
	return rule.CFAOff
}

// pointsToRecord reports whether a function's first change of rsp is followed by one of rbp: push rbp; mov rbp, rsp, or
// before Go 1.21 sub rsp, n; mov [rsp+d], rbp; lea rbp, [rsp+d].
func (r *frameRecords) pointsToRecord(f *funcInfo) bool {
	s := r.steps(f.pcsp, f.entry)
	for s.next() && s.val <= 0 {
	}
	var b [16]byte
	if s.val <= 0 || s.start <= f.entry || !r.img.read(s.start, b[:]) {
		return false
	}
	in, ok := decode(b[:])
	if ok && in.Map == 0 && in.Op == 0x89 && in.Mod != 3 && in.Reg == regBP { // the store
		in, ok = decode(b[in.Size:])
		return ok && in.Map == 0 && in.Op == 0x8d && in.W && in.Reg == regBP && in.Base == regSP
	}
	return ok && in.Map == 0 && in.W && in.Mod == 3 &&
		(in.Op == 0x89 && in.RM == regBP && in.Reg == regSP || in.Op == 0x8b && in.Reg == regBP && in.RM == regSP)
}
