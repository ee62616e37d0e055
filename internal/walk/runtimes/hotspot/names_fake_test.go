// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"encoding/binary"
	"slices"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

const (
	collectedAt = 0x47f00
	classesAt   = 0x48000
	namedStack  = 0x60000
)

type named struct {
	*fake
	free  uint64
	major int
}

type namedRelease struct {
	release
	major                           int
	scopes, metadata, deopt, method int
}

var namedReleases = map[string]namedRelease{
	"JDK 8":  {releases["JDK 8"], 8, 2, 1, 3, 0},
	"JDK 17": {releases["JDK 16 to 22"], 17, 1, 1, 2, 1},
	"JDK 25": {releases["JDK 23 on"], 25, 0, 0, 1, 0},
}

var nameTypes = map[string]struct {
	off uint64
	typ string
}{
	"nmethod::_method": {40, "Method*"}, "CompiledMethod::_method": {40, "Method*"},
	"nmethod::_compile_id": {48, "int"}, "nmethod::_comp_level": {52, "CompLevel"},
	"nmethod::_orig_pc_offset":    {56, "int"},
	"nmethod::_scopes_pcs_offset": {60, "int"}, "nmethod::_scopes_data_offset": {64, "int"},
	"nmethod::_dependencies_offset": {68, "int"}, "nmethod::_immutable_data": {72, "address"},
	"nmethod::_immutable_data_size": {80, "int"}, "CompiledMethod::_scopes_data_begin": {72, "address"},
	"CodeBlob::_mutable_data": {88, "address"}, "CodeBlob::_mutable_data_size": {96, "int"},
	"CodeBlob::_relocation_size": {100, "int"}, "nmethod::_metadata_offset": {104, "int"},
	"nmethod::_deopt_handler_entry_offset": {108, "int"}, "nmethod::_deopt_handler_offset": {108, "int"},
	"nmethod::_deopt_mh_handler_offset": {112, "int"}, "CompiledMethod::_deopt_handler_begin": {112, "address"},
	"CompiledMethod::_deopt_mh_handler_begin": {120, "address"}, "nmethod::_deoptimize_offset": {108, "int"},
	"nmethod::_deoptimize_mh_offset": {112, "int"},
	"PcDesc::_pc_offset":             {0, "int"}, "PcDesc::_scope_decode_offset": {4, "int"},
	"Method::_constMethod": {8, "ConstMethod*"}, "Method::_i2i_entry": {16, "address"},
	"ConstMethod::_constants": {8, "ConstantPool*"}, "ConstMethod::_constMethod_size": {16, "int"},
	"ConstMethod::_code_size": {20, "u2"}, "ConstMethod::_name_index": {22, "u2"},
	"ConstMethod::_method_idnum": {24, "u2"},
	"ConstMethod::_flags":        {26, "u2"}, "ConstantPool::_tags": {0, "Array<u1>*"},
	"ConstantPool::_cache":       {8, "ConstantPoolCache*"},
	"ConstantPool::_pool_holder": {16, "InstanceKlass*"}, "ConstantPool::_length": {24, "int"},
	"ConstantPool::_source_file_name_index": {28, "u2"}, "Klass::_name": {24, "Symbol*"},
	"Symbol::_length": {4, "u2"}, "Symbol::_body": {6, ""}, "Array<int>::_length": {0, "int"}, "Array<u1>::_data": {4, ""},
	"StubRoutines::_call_stub_return_address": {0, "address"}, "Abstract_VM_Version::_vm_major_version": {0, "int"},
	"Abstract_VM_Version::_s_vm_release": {0, "const char*"},
	"Universe::_collectedHeap":           {0, "CollectedHeap*"}, "CollectedHeap::_total_collections": {8, "unsigned int"},
	"ClassLoaderDataGraph::_head": {0, "ClassLoaderData*"},
	"JDK_Version::_current":       {0, "JDK_Version"}, "JDK_Version::_major": {0, "unsigned char"},
}

func newNamed(r namedRelease) *named {
	names := slices.Concat(wantScopes[r.scopes], wantMetadata[r.metadata], wantDeopt[r.deopt])
	names = slices.Concat(names, wantNames, wantSource[0], wantLength[0])
	for i, name := range names {
		switch name {
		case "nmethod::_method":
			names[i] = []string{name, "CompiledMethod::_method"}[r.method]
		case "ConstMethod::_flags._flags":
			names[i] = "ConstMethod::_flags"
		}
	}
	if r.major < 22 {
		names = append(names, wantRelease[0]...)
	}
	rel := r.release
	for _, n := range names {
		if !slices.Contains(slices.Concat(wantFields, rel.names, wantBounds[rel.bounds]), n) {
			rel.names = append(rel.names, n)
		}
	}
	f := &named{fake: makeFake(rel), free: classesAt, major: r.major}
	f.header = 160
	for _, n := range rel.names {
		f.offset(n, nameTypes[n].off)
		f.typed(n, nameTypes[n].typ)
	}
	for name, v := range map[string]uint64{
		"Abstract_VM_Version::_vm_major_version": uint64(r.major), "JDK_Version::_current": uint64(r.major),
		"StubRoutines::_call_stub_return_address": 0x123456, "Abstract_VM_Version::_s_vm_release": f.text("17.0.15+6-test"),
		"Universe::_collectedHeap": collectedAt, "ClassLoaderDataGraph::_head": 0x1234,
	} {
		if slices.Contains(rel.names, name) {
			at := f.take(8)
			f.put(at, v)
			f.static(name, at)
		}
	}
	return f
}

func (f *named) typed(name, typ string) {
	if i := slices.Index(f.wanted, name); i >= 0 {
		f.put(uint64(tableAt+stride*(i+1)+32), f.text(typ))
	}
}

func (f *named) take(n uint64) uint64 {
	at := f.free
	f.free += (n + 7) &^ 7
	return at
}

func (f *named) put16(addr uint64, v uint16) { binary.LittleEndian.PutUint16(f.mem[addr:], v) }

func (f *named) newSymbol(s string) uint64 {
	at := f.take(uint64(6 + len(s)))
	f.put16(at+4, uint16(len(s)))
	copy(f.mem[at+6:], s)
	return at
}

type class struct{ klass, constants, tags uint64 }

const maxFakeConstants = 12

func (f *named) newClass(name, file string) class {
	c := class{f.take(64), f.take(32 + 8*maxFakeConstants), f.take(4 + maxFakeConstants)}
	f.put(c.klass+24, f.newSymbol(name))
	f.put(c.constants, c.tags)
	f.put(c.constants+8, 0xcac4e) // pool cache
	f.put(c.constants+16, c.klass)
	f.put32(c.constants+24, maxFakeConstants)
	f.put32(c.tags, maxFakeConstants)
	f.setConstant(c, 1, file)
	f.put16(c.constants+28, 1)
	return c
}

func (f *named) setConstant(c class, index int, text string) {
	f.put(c.constants+32+8*uint64(index), f.newSymbol(text))
	f.mem[c.tags+4+uint64(index)] = constUTF8
}

func (f *named) newMethod(c class, index int, name string, size int, lines ...byte) uint64 {
	f.setConstant(c, index, name)
	m, whole := f.take(64), uint64(32+size+len(lines)+1+7)&^7
	cm := f.take(whole)
	f.put(m+8, cm)
	f.put(cm+8, c.constants)
	f.put32(cm+16, int32(whole/8))
	f.put16(cm+20, uint16(size))
	f.put16(cm+22, uint16(index))
	f.put16(cm+24, uint16(index))
	if len(lines) > 0 {
		f.put16(cm+26, hasLines)
		copy(f.mem[cm+32+uint64(size):], append(slices.Clone(lines), 0))
	}
	return m
}

type desc struct{ pc, scope int32 }

func (f *named) newCompiled(r namedRelease, id int32, level byte, scopes []byte, pcs []desc,
	methods ...uint64) (code uint64) {
	code = f.blob("nmethod", 6, 5, make([]byte, 256))
	f.mem[code-f.header-32+8] = 1
	h := code - f.header
	meta := f.take(uint64(8 + 8*len(methods)))
	for i, m := range methods {
		f.put(meta+8+8*uint64(i), m)
	}
	table := f.take(uint64(32 * (len(pcs) + 2)))
	data := f.take(uint64(len(scopes)))
	if r.scopes != 0 { // order: scopes, places, methods
		meta = f.take(uint64(8 * len(methods)))
		for i, m := range methods {
			f.put(meta+8*uint64(i), m)
		}
		data = f.take(uint64(len(scopes)))
		table = f.take(uint64(32 * (len(pcs) + 2)))
	}
	copy(f.mem[data:], scopes)
	f.put32(table, -1)
	for i, d := range append(slices.Clone(pcs), desc{1 << 20, 0}) {
		f.put32(table+32*uint64(i+1), d.pc)
		f.put32(table+32*uint64(i+1)+4, d.scope)
	}
	end := table + uint64(32*(len(pcs)+2))
	f.put(h+40, methods[len(methods)-1])
	f.put32(h+48, id)
	f.mem[h+52] = level
	f.put32(h+56, 16)
	switch r.scopes {
	case 0:
		f.put(h+72, min(table, data))
		f.put32(h+60, int32(table-min(table, data)))
		f.put32(h+64, int32(data-min(table, data)))
		f.put32(h+80, int32(data+uint64(len(scopes))-min(table, data)))
		f.put(h+88, meta)
		f.put32(h+96, int32(8+8*len(methods)))
		f.put32(h+100, 5)
	case 1:
		f.put(h+72, data)
		f.put32(h+60, int32(table-h))
		f.put32(h+68, int32(end-h))
		f.put32(h+104, int32(meta-h))
	case 2:
		f.put32(h+64, int32(data-h))
		f.put32(h+60, int32(table-h))
		f.put32(h+68, int32(end-h))
		f.put32(h+104, int32(meta-h))
	}
	f.put32(h+108, int32(f.header)+200) // deoptimization handler
	if r.deopt == 2 {
		f.put(h+112, code+200)
	}
	return code
}

func number5(least byte, vs ...byte) []byte {
	for i := range vs {
		vs[i] += least
	}
	return vs
}

var generated = &frames.Module{Generated: true}

func begin(n *javaFrames, regs map[uint8]uint64, words ...uint64) *managed.Sample {
	b := make([]byte, 0, 8*len(words))
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	s := &managed.Sample{
		Regs: &frames.Regs{Arch: frames.X86_64},
		Mem:  &frames.Snapshot{Stack: frames.Region{Addr: namedStack, Bytes: b}, StackEnd: namedStack + uint64(len(b))},
	}
	for r, v := range regs {
		s.Regs.Set(r, v)
	}
	n.begin(s)
	return s
}
