// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"slices"
)

// wantNames are the fields that names need (methods.go, scopes.go).
var wantNames = []string{
	"nmethod::_method", "nmethod::_compile_id", "nmethod::_comp_level", "nmethod::_orig_pc_offset",
	"nmethod::_scopes_pcs_offset",
	"CodeBlob::_name", "PcDesc::_pc_offset", "PcDesc::_scope_decode_offset",
	"Method::_constMethod", "Method::_i2i_entry",
	"ConstMethod::_constants", "ConstMethod::_name_index", "ConstMethod::_method_idnum",
	"ConstMethod::_constMethod_size", "ConstMethod::_code_size", "ConstMethod::_flags._flags",
	"ConstantPool::_tags", "ConstantPool::_cache", "ConstantPool::_pool_holder", "ConstantPool::_length",
	"Klass::_name", "Symbol::_body", "Array<int>::_length", "Array<u1>::_data",
	"StubRoutines::_call_stub_return_address",
	"Universe::_collectedHeap", "CollectedHeap::_total_collections", "ClassLoaderDataGraph::_head",
	"Abstract_VM_Version::_vm_major_version", "Abstract_VM_Version::_s_vm_release",
}

// optionalNames are read in JDK 23 and 24 only.
var optionalNames = []string{"CodeBlob::_size", "CodeBlob::_data_offset"}

var wantNameSizes = []string{"HeapBlock", "PcDesc", "ConstMethod", "ConstantPool"}

// The first complete set counts.
var (
	wantRelease = [][]string{{"JDK_Version::_current", "JDK_Version::_major"}, {"Abstract_VM_Version::_vm_major_version"}}
	wantScopes  = [][]string{
		{"nmethod::_immutable_data", "nmethod::_immutable_data_size", "nmethod::_scopes_data_offset"},
		{"CompiledMethod::_scopes_data_begin", "nmethod::_dependencies_offset"},
		{"nmethod::_scopes_data_offset", "nmethod::_dependencies_offset"},
	}
	// In mutable data after relocations (since JDK 25), or after the oops.
	wantMetadata = [][]string{
		{"CodeBlob::_mutable_data", "CodeBlob::_mutable_data_size", "CodeBlob::_relocation_size"},
		{"nmethod::_metadata_offset"},
	}
	wantDeopt = [][]string{
		{"nmethod::_deopt_handler_entry_offset"},
		{"nmethod::_deopt_handler_offset", "nmethod::_deopt_mh_handler_offset"},
		{"CompiledMethod::_deopt_handler_begin", "CompiledMethod::_deopt_mh_handler_begin"},
		{"nmethod::_deoptimize_offset", "nmethod::_deoptimize_mh_offset"},
	}
	// In the pool, or in the class.
	wantSource = [][]string{{"ConstantPool::_source_file_name_index"}, {"InstanceKlass::_source_file_name_index"}}
	// 16 bits, or the upper half of 32.
	wantLength = [][]string{{"Symbol::_length"}, {"Symbol::_length_and_refcount"}}
)

var nameAlternatives = [][][]string{wantRelease, wantScopes, wantMetadata, wantDeopt, wantSource, wantLength}

type scopesIn int

const (
	scopesApart     scopesIn = iota // in separate memory (since JDK 23)
	scopesByAddress                 // at an address (JDK 9 to 22)
	scopesByOffset                  // at offsets from the header (JDK 8)
)

func nameFields() []string {
	return slices.Concat(wantNames, optionalNames, slices.Concat(slices.Concat(nameAlternatives...)...),
		slices.Concat(wantThreads...), wantZ, wantX, wantGenerations, wantClasses, slices.Concat(wantWaits...))
}

func nameSizes() []string { return slices.Concat(wantNameSizes, forwardingSizes) }

type nameLayout struct {
	*layout
	major                    int
	excludedCodes            byte // bytes below it are in no number: 0, or 1
	scopesIn                 scopesIn
	scopes, deopts, metadata []field
	source, length           string // of wantSource, wantLength
	headerBytes              uint64 // read of a blob's header
}

func (l *layout) fieldsNamed(names []string) (out []field) {
	for _, name := range names {
		out = append(out, l.fields[name])
	}
	return out
}

const (
	maxConst  = 112
	maxPool   = 240
	maxPcDesc = 64
)

// No byte of a number is 0 from this release on.
const firstExcludingZero = 20

// readNameLayout returns nil for an unknown release or offsets.
func (v *VM) readNameLayout() *nameLayout {
	l := v.layout
	n := &nameLayout{
		layout: l, scopes: l.fieldsNamed(l.firstComplete(wantScopes)), deopts: l.fieldsNamed(l.firstComplete(wantDeopt)),
		metadata: l.fieldsNamed(l.firstComplete(wantMetadata)), scopesIn: scopesIn(slices.IndexFunc(wantScopes, l.has)),
		source: l.firstComplete(wantSource)[0], length: l.firstComplete(wantLength)[0],
	}
	if !n.readMajor(v.memory()) {
		return nil
	}
	if n.major >= firstExcludingZero {
		n.excludedCodes = 1
	}
	if l.sizes["ConstMethod"] > maxConst || l.sizes["ConstantPool"] > maxPool || l.sizes["PcDesc"] > maxPcDesc {
		return nil
	}
	n.headerBytes = max(l.endOf("CodeBlob"), l.endOf("CompiledMethod"), l.endOf("nmethod"))
	for _, name := range slices.Concat(wantNames, optionalNames, []string{n.source, n.length}) {
		if f := l.fields[name]; f.offset > maxHeader && f.address == 0 {
			return nil
		}
	}
	if n.headerBytes > maxHeader {
		return nil
	}
	return n
}
