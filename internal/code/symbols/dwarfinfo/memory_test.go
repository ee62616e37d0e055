// SPDX-License-Identifier: Apache-2.0

package dwarfinfo

import (
	"encoding/binary"
	"runtime"
	"testing"

	"prywalk/internal/code/elffile"
	"prywalk/internal/host/filememory"
)

func manyUnits(n int) Sections {
	// DW_TAG_compile_unit without children, DW_AT_low_pc addr, DW_AT_high_pc data1
	abbrev := []byte{1, tagCompileUnit, 0, attrLowPC, formAddr, attrHighPC, formData1, 0, 0, 0}
	var info []byte
	for i := range n {
		body := binary.LittleEndian.AppendUint16(nil, 4)
		body = append(binary.LittleEndian.AppendUint32(body, 0), 8, 1)
		body = append(binary.LittleEndian.AppendUint64(body, uint64(0x1000+16*i)), 16)
		info = append(binary.LittleEndian.AppendUint32(info, uint32(len(body))), body...)
	}
	return Sections{Info: elffile.InMemory(info), Abbrev: abbrev}
}

func TestDebugInformationIsWithinItsBudget(t *testing.T) {
	const limit = 4 << 20
	s := manyUnits(200_000)
	mem := filememory.New(limit)
	s.Memory = mem.Account("it")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d := New(s, nil)
	d.Calls(0x1008, nil)
	runtime.ReadMemStats(&after)
	got := int64(after.TotalAlloc - before.TotalAlloc)
	t.Logf("%d units, %d bytes allocated, %d taken", len(d.units), got, mem.Peak())
	if got > 2*limit || mem.Peak() > limit || len(d.units) == 0 || len(d.units) == 200_000 {
		t.Errorf("%d units, %d bytes allocated, %d of the budget; want part of the units, at most %d bytes", len(d.units),
			got, mem.Peak(), int64(limit))
	}
	if mem.Refusals() == "" {
		t.Error("the budget does not report what was left out")
	}
	free := manyUnits(1000)
	free.Memory = filememory.New(limit).Account("it")
	if d := New(free, nil); len(d.Calls(0x1008, nil)) == 0 && len(d.index) != 1000 {
		t.Errorf("%d ranges, want those of 1000 units", len(d.index))
	}
}
