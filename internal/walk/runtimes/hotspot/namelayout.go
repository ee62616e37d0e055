// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"reflect"
	"slices"
	"strings"
)

// nameTable has the fields and sizes that names need (methods.go, scopes.go). The first known name of a tag counts;
// "?" marks optional fields.
type nameTable struct {
	NMethod struct {
		CompileID field `vm:"nmethod::_compile_id"`
		Level     field `vm:"nmethod::_comp_level"`
		OrigPC    field `vm:"nmethod::_orig_pc_offset"`
		ScopesPCs field `vm:"nmethod::_scopes_pcs_offset"`
		Method    field `vm:"nmethod::_method|CompiledMethod::_method"`
	}
	CodeBlob struct {
		Name       field `vm:"CodeBlob::_name"`
		Size       field `vm:"CodeBlob::_size?"`
		DataOffset field `vm:"CodeBlob::_data_offset?"`
	}
	HeapBlock struct {
		Bytes uint64 `vm:"HeapBlock"`
	}
	PcDesc struct {
		PCOffset field  `vm:"PcDesc::_pc_offset"`
		Scope    field  `vm:"PcDesc::_scope_decode_offset"`
		Bytes    uint64 `vm:"PcDesc"`
	}
	Method struct {
		ConstMethod field `vm:"Method::_constMethod"`
		Entry       field `vm:"Method::_i2i_entry"`
	}
	ConstMethod struct {
		Constants field  `vm:"ConstMethod::_constants"`
		NameIndex field  `vm:"ConstMethod::_name_index"`
		IDNum     field  `vm:"ConstMethod::_method_idnum"`
		Size      field  `vm:"ConstMethod::_constMethod_size"`
		CodeSize  field  `vm:"ConstMethod::_code_size"`
		Flags     field  `vm:"ConstMethod::_flags._flags|ConstMethod::_flags"`
		Bytes     uint64 `vm:"ConstMethod"`
	}
	ConstantPool struct {
		Tags       field  `vm:"ConstantPool::_tags"`
		Cache      field  `vm:"ConstantPool::_cache"`
		Holder     field  `vm:"ConstantPool::_pool_holder"`
		Length     field  `vm:"ConstantPool::_length"`
		SourceFile field  `vm:"ConstantPool::_source_file_name_index|InstanceKlass::_source_file_name_index"`
		Bytes      uint64 `vm:"ConstantPool"`
	}
	Klass struct {
		Name field `vm:"Klass::_name"`
	}
	Symbol struct {
		Body   field `vm:"Symbol::_body"`
		Length field `vm:"Symbol::_length|Symbol::_length_and_refcount"`
	}
	Array struct {
		Length field `vm:"Array<int>::_length"`
		Data   field `vm:"Array<u1>::_data"`
	}
	StubRoutines struct {
		CallStub field `vm:"StubRoutines::_call_stub_return_address"`
	}
	Others struct {
		Heap        field `vm:"Universe::_collectedHeap"`
		Collections field `vm:"CollectedHeap::_total_collections"`
		Loaders     field `vm:"ClassLoaderDataGraph::_head"`
		Major       field `vm:"Abstract_VM_Version::_vm_major_version"`
		Release     field `vm:"Abstract_VM_Version::_s_vm_release"`
	}
}

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
)

type scopesIn int

const (
	scopesApart     scopesIn = iota // in separate memory (since JDK 23)
	scopesByAddress                 // at an address (JDK 9 to 22)
	scopesByOffset                  // at offsets from the header (JDK 8)
)

func alternatives() [][][]string {
	return [][][]string{wantRelease, wantScopes, wantMetadata, wantDeopt}
}

type tagged struct {
	names    []string
	optional bool
	field    *field  // nil: a size
	size     *uint64 // nil: a field
}

func (t *nameTable) members() (all []tagged) {
	groups := reflect.ValueOf(t).Elem()
	for i := range groups.NumField() {
		g := groups.Field(i)
		for j := range g.NumField() {
			tag, optional := strings.CutSuffix(g.Type().Field(j).Tag.Get("vm"), "?")
			m := tagged{names: strings.Split(tag, "|"), optional: optional}
			m.field, _ = g.Field(j).Addr().Interface().(*field)
			m.size, _ = g.Field(j).Addr().Interface().(*uint64)
			all = append(all, m)
		}
	}
	return all
}

func (t *nameTable) fill(l *layout) (lacks string) {
	for _, m := range t.members() {
		if m.size != nil {
			if *m.size = l.sizes[m.names[0]]; *m.size == 0 {
				return "the size of " + m.names[0]
			}
			continue
		}
		i := slices.IndexFunc(m.names, func(name string) bool { return l.has([]string{name}) })
		switch {
		case i >= 0:
			*m.field = l.fields[m.names[i]]
		case !m.optional:
			return m.names[0]
		}
	}
	return ""
}

func nameFields() (out []string) {
	for _, m := range new(nameTable).members() {
		if m.field != nil {
			out = append(out, m.names...)
		}
	}
	for _, sets := range alternatives() {
		out = append(out, slices.Concat(sets...)...)
	}
	out = append(out, slices.Concat(wantThreads...)...)
	out = append(append(out, forwardingLayout()...), wantClasses...)
	return append(out, slices.Concat(wantWaits...)...)
}

func nameSizes() (out []string) {
	for _, m := range new(nameTable).members() {
		if m.size != nil {
			out = append(out, m.names...)
		}
	}
	return append(out, forwardingSizes...)
}

type nameLayout struct {
	*layout
	table                    nameTable
	major                    int
	excludedCodes            byte // bytes below it are in no number: 0, or 1
	scopesIn                 scopesIn
	scopes, deopts, metadata []field
	sourceInPool             bool   // else in an InstanceKlass
	lengthAbove              bool   // Symbol.Length is the upper half of 32 bits
	headerBytes              uint64 // read of a blob's header
}

func (l *layout) missingNameField() string {
	if lacks := new(nameTable).fill(l); lacks != "" {
		return lacks
	}
	for _, sets := range alternatives() {
		if l.firstComplete(sets) == nil {
			return sets[0][0]
		}
	}
	return ""
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
		metadata:     l.fieldsNamed(l.firstComplete(wantMetadata)),
		sourceInPool: l.has([]string{"ConstantPool::_source_file_name_index"}),
		lengthAbove:  !l.has([]string{"Symbol::_length"}), scopesIn: scopesIn(slices.IndexFunc(wantScopes, l.has)),
	}
	n.table.fill(l)
	if !n.readMajor(v.memory()) {
		return nil
	}
	if n.major >= firstExcludingZero {
		n.excludedCodes = 1
	}
	if n.table.ConstMethod.Bytes > maxConst || n.table.ConstantPool.Bytes > maxPool || n.table.PcDesc.Bytes > maxPcDesc {
		return nil
	}
	for name := range l.fields {
		switch typ, _, _ := strings.Cut(name, "::"); typ {
		case "CodeBlob", "CompiledMethod", "nmethod":
			n.headerBytes = max(n.headerBytes, l.offset(name)+8)
		}
	}
	for _, m := range n.table.members() {
		if m.field != nil && m.field.offset > maxHeader && m.field.address == 0 {
			return nil
		}
	}
	if n.headerBytes > maxHeader {
		return nil
	}
	return n
}
