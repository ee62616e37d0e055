// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// wantNames are the fields that names need, whatever the release. What differs stands in the lists of alternatives
// below. All are optional: without them frames have no names, and are unwound all the same.
var wantNames = []string{
	"nmethod::_compile_id", "nmethod::_comp_level", "nmethod::_orig_pc_offset", "nmethod::_scopes_pcs_offset",
	"PcDesc::_pc_offset", "PcDesc::_scope_decode_offset",
	"Method::_constMethod", "Method::_i2i_entry",
	"ConstMethod::_constants", "ConstMethod::_constMethod_size", "ConstMethod::_code_size", "ConstMethod::_name_index",
	"ConstMethod::_method_idnum",
	"ConstantPool::_tags", "ConstantPool::_cache", "ConstantPool::_pool_holder", "ConstantPool::_length",
	"Klass::_name", "Symbol::_body", "Array<int>::_length", "Array<u1>::_data",
	"StubRoutines::_call_stub_return_address", "Abstract_VM_Version::_vm_major_version",
	"Abstract_VM_Version::_s_vm_release",
	"Universe::_collectedHeap", "CollectedHeap::_total_collections", "ClassLoaderDataGraph::_head",
}

// What differs between releases, for names. Of each list the first whole set counts.
var (
	wantMethod  = [][]string{{"nmethod::_method"}, {"CompiledMethod::_method"}}
	wantFlags   = [][]string{{"ConstMethod::_flags._flags"}, {"ConstMethod::_flags"}}
	wantSymbols = [][]string{{"Symbol::_length"}, {"Symbol::_length_and_refcount"}}
	wantSources = [][]string{{"ConstantPool::_source_file_name_index"}, {"InstanceKlass::_source_file_name_index"}}
	wantRelease = [][]string{{"JDK_Version::_current", "JDK_Version::_major"}, {"Abstract_VM_Version::_vm_major_version"}}
	// Where the debugging information is: in memory of its own (JDK 23 on), by an address (9 to 22), or by distances
	// from the header (8).
	wantScopes = [][]string{
		{"nmethod::_immutable_data", "nmethod::_immutable_data_size", "nmethod::_scopes_data_offset"},
		{"CompiledMethod::_scopes_data_begin", "nmethod::_dependencies_offset"},
		{"nmethod::_scopes_data_offset", "nmethod::_dependencies_offset"},
	}
	// Where the list of its methods is: behind the relocations of its mutable data (JDK 25 on), or behind the oops.
	wantMetadata = [][]string{
		{"CodeBlob::_mutable_data", "CodeBlob::_mutable_data_size", "CodeBlob::_relocation_size"},
		{"nmethod::_metadata_offset"},
	}
	// Where a frame returns to that is to be replaced by interpreted ones.
	wantDeopt = [][]string{
		{"nmethod::_deopt_handler_entry_offset"},
		{"nmethod::_deopt_handler_offset", "nmethod::_deopt_mh_handler_offset"},
		{"CompiledMethod::_deopt_handler_begin", "CompiledMethod::_deopt_mh_handler_begin"},
		{"nmethod::_deoptimize_offset", "nmethod::_deoptimize_mh_offset"},
	}
)

// nameSizes are the types whose sizes names need.
var nameSizes = []string{"ConstMethod", "ConstantPool", "PcDesc"}

// alternatives are all lists of those.
func alternatives() [][][]string {
	return [][][]string{wantMethod, wantFlags, wantSymbols, wantSources, wantRelease, wantScopes, wantMetadata, wantDeopt}
}

// nameFields lists all fields that names may need.
func nameFields() []string {
	out := slices.Clone(wantNames)
	for _, sets := range alternatives() {
		out = append(out, slices.Concat(sets...)...)
	}
	out = append(out, slices.Concat(wantThreads...)...)
	return append(out, slices.Concat(wantWaits...)...)
}

// nameLayout is what of the tables names need.
type nameLayout struct {
	*layout
	major                           int // the release: 8, 11, 17 …
	least                           byte
	method, flags, symbol           string
	source, release, scopes, deopts []string
	metadata                        []string
	entry                           uint64 // bytes of a blob's header that are read
	at                              resolved
}

// resolved are the fields and sizes that each new frame needs some hundred times, looked up once.
type resolved struct {
	compileID, level, orig, blobName, blobSize, dataOffset, method, pcs field // of a compiled method's header
	deopts, scopes, metadata                                            []field

	pcOffset, pcScope                                             field // PcDesc
	constMethod                                                   field // Method
	constants, nameIndex, idnum, constMethodSize, codeSize, flags field // ConstMethod
	tags, cache, holder, length                                   field // ConstantPool
	source                                                        field // it, or InstanceKlass
	sourceInPool                                                  bool
	klassName, body, symbolLength                                 field
	arrayLength, arrayData                                        field

	blockBytes, pcBytes, constMethodBytes, poolBytes uint64 // sizes
}

// resolve looks them up. The names are those that were chosen.
func (n *nameLayout) resolve() {
	f := func(name string) field { return n.fields[name] }
	all := func(names []string) (out []field) {
		for _, name := range names {
			out = append(out, f(name))
		}
		return out
	}
	n.at = resolved{
		compileID: f("nmethod::_compile_id"), level: f("nmethod::_comp_level"), orig: f("nmethod::_orig_pc_offset"),
		blobName: f("CodeBlob::_name"), blobSize: f("CodeBlob::_size"), dataOffset: f("CodeBlob::_data_offset"),
		method: f(n.method), pcs: f("nmethod::_scopes_pcs_offset"),
		deopts: all(n.deopts), scopes: all(n.scopes), metadata: all(n.metadata),
		pcOffset: f("PcDesc::_pc_offset"), pcScope: f("PcDesc::_scope_decode_offset"),
		constMethod: f("Method::_constMethod"),
		constants:   f("ConstMethod::_constants"), nameIndex: f("ConstMethod::_name_index"),
		idnum: f("ConstMethod::_method_idnum"), constMethodSize: f("ConstMethod::_constMethod_size"),
		codeSize: f("ConstMethod::_code_size"), flags: f(n.flags),
		tags: f("ConstantPool::_tags"), cache: f("ConstantPool::_cache"), holder: f("ConstantPool::_pool_holder"),
		length: f("ConstantPool::_length"), source: f(n.source[0]), sourceInPool: isOf(n.source[0], "ConstantPool"),
		klassName: f("Klass::_name"), body: f("Symbol::_body"), symbolLength: f(n.symbol),
		arrayLength: f("Array<int>::_length"), arrayData: f("Array<u1>::_data"),
		blockBytes: n.sizes["HeapBlock"], pcBytes: n.sizes["PcDesc"], constMethodBytes: n.sizes["ConstMethod"],
		poolBytes: n.sizes["ConstantPool"],
	}
}

// lacksNames names a field that names need and that the tables do not have, "" if there is none.
func (l *layout) lacksNames() string {
	for _, name := range wantNames {
		if !l.has([]string{name}) {
			return name
		}
	}
	for _, sets := range alternatives() {
		if l.first(sets) == nil {
			return sets[0][0]
		}
	}
	for _, name := range nameSizes {
		if l.sizes[name] == 0 {
			return "the size of " + name
		}
	}
	return ""
}

// Bounds of the sizes of structures, in bytes.
const (
	maxConst = 112
	maxPool  = 240
)

// first5 is the release from which on the byte 0 is in no number.
const first5 = 20

// readNameLayout chooses among the alternatives. The tables must lack nothing.
func (v *VM) readNameLayout() (*nameLayout, bool) {
	l := v.layout
	n := &nameLayout{
		layout: l, method: l.first(wantMethod)[0], flags: l.first(wantFlags)[0], symbol: l.first(wantSymbols)[0],
		source: l.first(wantSources), release: l.first(wantRelease), scopes: l.first(wantScopes),
		deopts: l.first(wantDeopt), metadata: l.first(wantMetadata),
	}
	m := v.memory()
	var b [8]byte
	if len(n.release) == 2 {
		m.bytes(l.static(n.release[0])+l.off(n.release[1]), b[:1])
		n.major = int(b[0])
	} else {
		n.major = int(m.int32(l.static(n.release[0])))
	}
	if m.failed || n.major < 8 || n.major > 99 {
		return nil, false
	}
	if n.major >= first5 {
		n.least = 1
	}
	if l.sizes["ConstMethod"] > maxConst || l.sizes["ConstantPool"] > maxPool || l.sizes["PcDesc"] > 64 {
		return nil, false
	}
	for name := range l.fields {
		if isOf(name, "CodeBlob") || isOf(name, "CompiledMethod") || isOf(name, "nmethod") {
			n.entry = max(n.entry, l.off(name)+8)
		}
	}
	for _, name := range slices.Concat(wantNames, n.source, []string{n.flags, n.symbol}) {
		if l.off(name) > maxHeader && l.static(name) == 0 {
			return nil, false
		}
	}
	n.resolve()
	return n, n.entry <= maxHeader
}

// isOf reports whether a field belongs to a type.
func isOf(field, typ string) bool {
	return len(field) > len(typ)+2 && field[:len(typ)] == typ && field[len(typ):len(typ)+2] == "::"
}

// in reads a field of at most 8 bytes out of its structure, by the size that its type has.
func (f *field) in(b []byte) uint64 {
	if f.offset+8 > uint64(len(b)) {
		return 0
	}
	switch w := wordAt(b[f.offset:]); f.size {
	case 1:
		return w & 0xff
	case 2:
		return w & 0xffff
	case 4:
		return w & 0xffffffff
	default:
		return w
	}
}

// sizeOf gives the bytes of a number by the name of its type; 8 for a pointer and for what is not known.
func sizeOf(typ string) uint8 {
	switch typ {
	case "int", "jint", "u4", "unsigned int", "uint32_t", "OSThread::thread_id_t", "pid_t", "JavaThreadState",
		"const uint":
		return 4
	case "u2", "int16_t", "unsigned short", "short":
		return 2
	case "u1", "CompLevel", "bool", "volatile signed char", "volatile unsigned char", "unsigned char":
		return 1
	}
	return 8
}

// Version gives the machine's name and release: "HotSpot 17.0.15"; JDK 8 calls its machine 25, and the update is what
// follows that: "HotSpot 8u412". Only "HotSpot" where the tables do not say.
func (v *VM) Version() string {
	if v.version == "" {
		v.version = v.readVersion()
	}
	if v.version == "" {
		return name
	}
	return name + " " + v.version
}

const name = "HotSpot"

// readVersion gives the release.
func (v *VM) readVersion() string {
	m, l := v.memory(), v.layout
	at := l.static("Abstract_VM_Version::_s_vm_release")
	if at == 0 {
		return ""
	}
	release, _, _ := strings.Cut(m.name(m.word(at)), "+")
	release, _, _ = strings.Cut(release, "-")
	if strings.Trim(release, "0123456789.") != "" || m.failed {
		return ""
	}
	major, update, _ := strings.Cut(release, ".")
	// JDK 8 and JDK 25 both call themselves 25: only the former says where its version is.
	if is := l.static("JDK_Version::_current"); is != 0 && major == "25" {
		var b [1]byte
		if m.bytes(is+l.off("JDK_Version::_major"), b[:]); b[0] == 8 {
			update, _, _ = strings.Cut(update, ".")
			if n, err := strconv.Atoi(update); err == nil {
				return fmt.Sprintf("8u%d", n)
			}
			return "8"
		}
	}
	return release
}
