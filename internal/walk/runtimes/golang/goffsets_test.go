// SPDX-License-Identifier: Apache-2.0

package golang

import (
	"testing"

	"prywalk/frames"
)

// The expected offsets are DWARF's.
func TestLayoutIsFoundInTheCode(t *testing.T) {
	later := variants() // than Go 1.20
	for _, r := range laterReleases(t) {
		later = append(later, variant{"go" + r, source, with(r, noCgo...), nil})
	}
	for i, v := range append(later, older(t)...) {
		tab, f := open(t, build(t, v.src, v.env, v.args...))
		c, ok := tab.GOffsets()
		if !ok {
			t.Errorf("%s: not found: %+v", v.name, c)
			continue
		}
		d, err := f.DWARF()
		if err != nil {
			t.Fatal(err)
		}
		g, m, gobuf := members(t, d, "runtime.g"), members(t, d, "runtime.m"), members(t, d, "runtime.gobuf")
		status, start := g["atomicstatus"], g["startpc"]
		want := map[string][2]int64{
			"g.m": {c.GM, g["m"]}, "g.sched": {c.SchedSP, g["sched"]}, "g.stack": {c.GStackLo, g["stack"]},
			"m.curg": {c.MCurg, m["curg"]}, "m.g0": {c.MG0, m["g0"]}, "m.gsignal": {c.MGsignal, m["gsignal"]},
			"g.sched.sp": {c.SchedSP, g["sched"] + gobuf["sp"]}, "g.sched.pc": {c.SchedPC, g["sched"] + gobuf["pc"]},
			"g.sched.bp": {c.SchedBP, g["sched"] + gobuf["bp"]},
			"g.goid":     {status + afterStatusGoid, g["goid"]}, "g.waitsince": {status + afterStatusSince, g["waitsince"]},
			"g.waitreason": {status + afterStatusReason, g["waitreason"]}, "g.gopc": {start - beforeStartGoPC, g["gopc"]},
			"g.waiting": {start + afterStartWaiting, g["waiting"]}, "g.labels": {start + afterStartLabels, g["labels"]},
		}
		if i < len(later) {
			want["g.parentGoid"] = [2]int64{start - beforeStartParent, g["parentGoid"]}
		}
		for field, offsets := range want {
			if offsets[0] != offsets[1] {
				t.Errorf("%s: %s at %d, DWARF says %d", v.name, field, offsets[0], offsets[1])
			}
		}
		if tab.img.Arch == frames.X86_64 && (!c.HasTLS || c.TLS >= 0 || c.TLS%8 != 0) && c.TLSSlot == 0 {
			t.Errorf("%s: thread-local storage: %+v", v.name, c)
		}
	}
}

// A program's instructions may name any offset.
func TestOffsetsBeyondACopiedGoroutineAreRefused(t *testing.T) {
	known := GOffsets{GReg: 28, GStackHi: 8, GM: 0x30, SchedSP: 0x38, SchedPC: 0x40, SchedLR: 0x60, SchedBP: 0x68,
		MGsignal: 0x50, MCurg: 0xb8}
	if !known.plausible() {
		t.Fatalf("%+v is refused; it is Go's on arm64", known)
	}
	for _, off := range []int64{8, goroutineBytes - 4, goroutineBytes, 32760} {
		c := known
		c.SchedLR = off
		if c.plausible() {
			t.Errorf("sched.lr at %d is accepted", off)
		}
	}
}
