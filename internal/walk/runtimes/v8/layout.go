// SPDX-License-Identifier: Apache-2.0

package v8

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// # Layouts
//
// V8's build makes data symbols of offsets, types and constants (tools/gen-postmortem-metadata.py). Names vary and
// can be missing: known layouts complete them. Files are below deps/v8 of https://github.com/nodejs/node, by tag, and
// have the same names in https://github.com/v8/v8; numbers are releases of V8.
//
// layout has the offsets of fields in objects.
type layout struct {
	// These are offsets from the frame pointer: src/execution/frame-constants.h.
	fpFunction, fpBytecodes, fpOffset int64
	// JSFunction: src/objects/js-function.tq.
	jsShared, jsContext uint64
	// SharedFunctionInfo: src/objects/shared-function-info.tq.
	sfiData, sfiName, sfiScript, sfiFlags uint64
	// Script: src/objects/script.tq.
	scriptSource, scriptName, scriptEnds, scriptID, scriptFunctions, scriptURL uint64
	// ScopeInfo: src/objects/scope-info.tq; position of the bounds, or 0.
	scopeBounds uint64
	// BytecodeArray: src/objects/bytecode-array.tq, code.tq (9.2).
	bytesLength, bytesPositions, bytesData uint64
	// Code: src/objects/code.h; with codeStart 0 it contains the instructions.
	codeDeopt, codePositions, codeFlags, codeStart, codeSize uint64
	// InstructionStream (since 11.0, before Code): src/objects/instruction-stream.h; bytes before the instructions.
	headerSize uint64
	// Deoptimization data, in words: src/objects/deoptimization-data.h (12.9), code.h (9.2).
	literals, shared, inlining, exitStart int
	// shared is a SharedFunctionInfoWrapper: src/objects/shared-function-info.h (12.9).
	wrapped bool
	kinds   [16]string // kindsOf
	types   types
}

// types are instance types of objects: src/objects/instance-type.h.
type types struct {
	firstFunction, lastFunction, sfi, script, scope, bytecodes, code, instructionStream, mapType uint16
	fixedArray, interpreterData, baselineData, wrapper                                           uint16
	promise, reaction, capability, asyncFunction, asyncGenerator, generatorRequest               uint16
	awaitContext, lastContext, freeSpace, feedbackVector                                         uint16
}

type version struct{ major, minor int }

func (v version) String() string { return fmt.Sprintf("%d.%d", v.major, v.minor) }

func (v version) atLeast(major, minor int) bool {
	return v.major > major || v.major == major && v.minor >= minor
}

// Known layouts.
var oldest, newest = version{9, 4}, version{14, 6}

const oldestNode, newestNode = 16, 26

// Kinds of code by name; interpreted has no code kind of V8.
const (
	kindRegExp      = "regexp"
	kindInterpreted = "interpreted"
	kindBaseline    = "baseline"
)

// kindsOf returns frame types by code kind (CodeKind in src/objects/code-kind.h).
func kindsOf(v version) (kinds [16]string) {
	regexp, baseline := 3, 11
	switch {
	case v.atLeast(14, 2): // Node 26; Node 25 has 14.1
		regexp = 4
	case v.atLeast(12, 0):
		baseline = 10
	}
	kinds[regexp], kinds[baseline] = kindRegExp, kindBaseline
	at := baseline + 1
	if v.atLeast(11, 0) {
		kinds[at] = "maglev"
		at++
	}
	kinds[at] = "turbofan"
	if !v.atLeast(11, 0) {
		kinds[at], kinds[at+1], kinds[at+2] = "turboprop", "turbofan", "turbofan"
		if v.atLeast(10, 0) {
			kinds[at] = "maglev"
		}
	}
	return kinds
}

func layoutOf(v version) layout {
	l := layout{
		fpFunction: -16, fpBytecodes: -32, fpOffset: -40,
		jsShared: 24, jsContext: 32, sfiData: 8, sfiName: 16, sfiScript: 32, sfiFlags: 48,
		scriptSource: 8, scriptName: 16, scriptEnds: 56, scriptID: 64, scriptFunctions: 88, scriptURL: 112,
		bytesLength: 8, bytesPositions: 32, bytesData: 54,
		codeDeopt: 16, codePositions: 24, codeFlags: 48, codeSize: 40, headerSize: 96,
		literals: 2, shared: 6, inlining: 7, exitStart: 8,
		kinds: kindsOf(v),
	}
	if v.atLeast(10, 0) {
		l.headerSize, l.bytesData = 128, 56
	}
	if v.major == 9 {
		l.scriptURL = 104
	}
	if v.atLeast(11, 0) { // Code is apart from its InstructionStream
		l.codeStart, l.codeSize, l.headerSize, l.bytesData = 40, 56, 16, 54
	}
	if v.atLeast(11, 8) { // without the relocation info
		l.codeDeopt, l.codePositions, l.codeStart, l.codeFlags, l.codeSize = 8, 16, 32, 40, 44
	}
	if v.atLeast(12, 0) {
		l.jsShared, l.jsContext, l.bytesPositions, l.bytesData = 32, 40, 24, 64
		l.codeStart, l.codeFlags, l.codeSize, l.headerSize = 40, 48, 52, 32
	}
	if v.atLeast(12, 8) { // the bounds of a ScopeInfo are at a fixed place
		l.scopeBounds = 32
	}
	if v.atLeast(13, 0) { // SharedFunctionInfo has trusted_function_data and untrusted_function_data
		l.sfiName, l.sfiScript, l.sfiFlags = 24, 40, 56
		l.codeFlags, l.codeSize = 52, 56
		l.literals, l.shared, l.inlining, l.exitStart = 3, 7, 8, 9
	}
	return l
}

type field struct {
	set   func(int64)
	names []string
	lacks func() bool // nil means that known layouts have it
}

func to[T int | int64 | uint64 | uint16](target *T, names ...string) field {
	return field{func(v int64) { *target = T(v) }, names, nil}
}

func needed(target *uint16, names ...string) field {
	f := to(target, names...)
	f.lacks = func() bool { return *target == 0 }
	return f
}

func (l *layout) fields() []field {
	t := &l.types
	return []field{
		to(&l.fpFunction, "off_fp_function"),
		to(&l.fpBytecodes, "off_fp_bytecode_array"),
		to(&l.fpOffset, "off_fp_bytecode_offset"),
		to(&l.jsShared, "class_JSFunction__shared__SharedFunctionInfo"),
		to(&l.sfiData, "class_SharedFunctionInfo__function_data__Object"),
		to(&l.sfiName,
			"class_SharedFunctionInfo__name_or_scope_info__Object",
			"class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_",
			"class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_"),
		to(&l.sfiScript,
			"class_SharedFunctionInfo__script_or_debug_info__HeapObject",
			"class_SharedFunctionInfo__script__Tagged_HeapObject_"),
		to(&l.sfiFlags, "class_SharedFunctionInfo__flags__int"),
		to(&l.scriptSource, "class_Script__source__Object"),
		to(&l.scriptName, "class_Script__name__Object"),
		to(&l.scriptEnds, "class_Script__line_ends__Object"),
		to(&l.bytesData, "class_BytecodeArray__data__uintptr_t"),
		to(&l.codeStart, "class_Code__instruction_start__Address"),
		to(&l.codeFlags, "class_Code__flags__uint32_t"),
		to(&l.codeSize, "class_Code__instruction_size__int"),
		to(&l.headerSize,
			"class_Code__instruction_start__uintptr_t",
			"class_InstructionStream__instruction_start__uintptr_t"),
		to(&l.literals, "DeoptimizationDataLiteralArrayIndex"),
		to(&l.shared, "DeoptimizationDataSharedFunctionInfoIndex", "DeoptimizationDataWrappedSharedFunctionInfoIndex"),
		to(&l.inlining, "DeoptimizationDataInliningPositionsIndex"),
		needed(&t.firstFunction, "type_JSFunction__JS_FUNCTION_TYPE", "FirstJSFunctionType"),
		to(&t.lastFunction, "LastJSFunctionType"),
		needed(&t.sfi, "type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE"),
		needed(&t.script, "type_Script__SCRIPT_TYPE"),
		needed(&t.scope, "type_ScopeInfo__SCOPE_INFO_TYPE"),
		needed(&t.bytecodes, "type_BytecodeArray__BYTECODE_ARRAY_TYPE"),
		needed(&t.code, "type_Code__CODE_TYPE"),
		needed(&t.instructionStream, "type_InstructionStream__INSTRUCTION_STREAM_TYPE"),
		needed(&t.mapType, "type_Map__MAP_TYPE"),
		to(&t.fixedArray, "type_FixedArray__FIXED_ARRAY_TYPE"),
		to(&t.interpreterData, "type_InterpreterData__INTERPRETER_DATA_TYPE"),
		to(&t.baselineData, "type_BaselineData__BASELINE_DATA_TYPE"),
		to(&t.wrapper, "type_SharedFunctionInfoWrapper__SHARED_FUNCTION_INFO_WRAPPER_TYPE"),
		to(&l.jsContext, "class_JSFunction__context__Context", "class_JSFunction__context__Tagged_Context_"),
		to(&t.promise, "type_JSPromise__JS_PROMISE_TYPE"),
		to(&t.reaction, "type_PromiseReaction__PROMISE_REACTION_TYPE"),
		to(&t.capability, "type_PromiseCapability__PROMISE_CAPABILITY_TYPE"),
		to(&t.asyncFunction, "type_JSAsyncFunctionObject__JS_ASYNC_FUNCTION_OBJECT_TYPE"),
		to(&t.asyncGenerator, "type_JSAsyncGeneratorObject__JS_ASYNC_GENERATOR_OBJECT_TYPE"),
		to(&t.generatorRequest, "type_AsyncGeneratorRequest__ASYNC_GENERATOR_REQUEST_TYPE"),
		to(&t.awaitContext, "FirstContextType"),
		to(&t.lastContext, "LastContextType"),
		to(&t.freeSpace, "type_FreeSpace__FREE_SPACE_TYPE"),
		to(&t.feedbackVector, "type_FeedbackVector__FEEDBACK_VECTOR_TYPE"),
	}
}

const functionTypes = 17

const prefix = "v8dbg_"

const (
	symMajor  = "_ZN2v88internal7Version6major_E"
	symMinor  = "_ZN2v88internal7Version6minor_E"
	symBuild  = "_ZN2v88internal7Version6build_E"
	symPatch  = "_ZN2v88internal7Version6patch_E"
	symSizes  = "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE"
	symCode   = "v8_Default_embedded_blob_code_"
	symInside = "v8_Default_embedded_blob_code_data_" // up to V8 10, where symCode is a pointer to it
	symSize   = "v8_Default_embedded_blob_code_size_"
	funCode   = "_ZN2v88internal23DefaultEmbeddedBlobCodeEv" // exported where what it returns is not
	funSize   = "_ZN2v88internal27DefaultEmbeddedBlobCodeSizeEv"
	symShift  = prefix + "SmiShiftSize" // bits above a small integer's tag; compressed pointers: 0
	symNode   = "_ZN4node11per_process8metadataE"
)

var symEntries = []string{
	"Builtins_InterpreterEntryTrampoline", "Builtins_InterpreterEnterAtBytecode",
	"Builtins_InterpreterEnterAtNextBytecode", "Builtins_BaselineOrInterpreterEnterAtBytecode",
	"Builtins_BaselineOrInterpreterEnterAtNextBytecode",
}

// Symbols are the names that [Detect] asks of each module.
var Symbols = func() (all []string) {
	for _, f := range new(layout).fields() {
		for _, n := range f.names {
			all = append(all, prefix+n)
		}
	}
	all = append(all, symEntries...)
	return append(all, symMajor, symMinor, symBuild, symPatch, symSizes, symCode, symInside, symSize, funCode, funSize,
		symShift, symNode)
}()

type v8Build struct {
	layout
	version
	full             string
	sizes            []byte // of one, two and four byte operands
	code             managed.Span
	bytecodeBuiltins []managed.Span
	node             string // Node's version, or ""
}

func describe(h managed.Host, m *frames.Module) (*v8Build, error) {
	at := map[string]managed.Symbol{}
	for _, s := range h.OwnSymbols(m, Symbols...) {
		at[s.Name] = s
	}
	if s, ok := at[funCode]; ok && (s.Addr < m.Start || s.Addr >= m.End) {
		return nil, nil // V8's copy of the builtins, from the same file
	}
	number := func(name string) (int64, bool) {
		s, ok := at[name]
		var b [4]byte
		if !ok || h.Read(s.Addr, b[:]) != len(b) {
			return 0, false
		}
		return int64(int32(binary.LittleEndian.Uint32(b[:]))), true
	}
	major, ok := number(symMajor)
	if !ok {
		return nil, nil
	}
	minor, _ := number(symMinor)
	build, _ := number(symBuild)
	patch, _ := number(symPatch)
	d := &v8Build{version: version{int(major), int(minor)}}
	d.full = fmt.Sprintf("%d.%d.%d.%d", major, minor, build, patch)
	if !d.atLeast(oldest.major, oldest.minor) || d.atLeast(newest.major, newest.minor+1) {
		return nil, fmt.Errorf("V8 %s is not known (%v to %v, those of Node %d to %d, are); JavaScript has no names", d.full,
			oldest, newest, oldestNode, newestNode)
	}
	d.layout = layoutOf(d.version)
	for _, f := range d.fields() {
		for _, n := range f.names {
			if v, ok := number(prefix + n); ok {
				f.set(v)
			}
		}
	}
	if shift, ok := number(symShift); ok && shift != 31 {
		return nil, fmt.Errorf("V8 %s has compressed pointers, which are not read; JavaScript has no names", d.full)
	}
	d.complete()
	if lacks := d.lacks(); lacks != "" {
		return nil, fmt.Errorf("V8 %s has no symbol %s; JavaScript has no names", d.full, prefix+lacks)
	}
	if !d.isWithinHeads() {
		return nil, fmt.Errorf("V8 %s has symbols of other offsets than its releases (%sclass_…); JavaScript has no names",
			d.full, prefix)
	}
	d.read(h, at, number)
	return d, nil
}

func (d *v8Build) complete() {
	t := &d.types
	if t.lastFunction == 0 {
		t.lastFunction = t.firstFunction + functionTypes - 1
	}
	if d.codeStart == 0 {
		t.instructionStream = t.code
	}
	d.wrapped = t.wrapper != 0
	if t.freeSpace == 0 { // Node 26
		t.freeSpace = t.feedbackVector + 2
	}
}

// lacks returns the first type without a symbol, or "".
func (l *layout) lacks() string {
	for _, f := range l.fields() {
		if f.lacks != nil && f.lacks() {
			name, _, _ := strings.Cut(f.names[0], "__")
			return name
		}
	}
	return ""
}

func (l *layout) isWithinHeads() bool {
	return max(l.sfiData, l.sfiName, l.sfiScript, l.sfiFlags) <= sfiSize-8 &&
		max(l.codeDeopt, l.codePositions, l.codeStart) <= codeHead-8 && max(l.codeFlags, l.codeSize) <= codeHead-4
}

// 256 bytecodes of three operand sizes.
const maxSizes = 3 * 256

func (d *v8Build) read(h managed.Host, at map[string]managed.Symbol, number func(string) (int64, bool)) {
	if s := at[symSizes]; s.Size > 0 && s.Size <= maxSizes && s.Size%3 == 0 {
		b := make([]byte, s.Size)
		d.sizes = b[:h.Read(s.Addr, b)]
	}
	begin, ok := at[symInside]
	if !ok {
		begin = at[symCode]
	}
	if size, ok := number(symSize); ok && begin.Addr != 0 && size > 0 {
		d.code = managed.Span{Start: begin.Addr, End: begin.Addr + uint64(size)}
	} else if !ok {
		d.code = exportedCode(h.Read, at[funCode].Addr, at[funSize].Addr)
	}
	for _, name := range symEntries {
		if s := at[name]; s.Size > 0 {
			d.bytecodeBuiltins = append(d.bytecodeBuiltins, managed.Span{Start: s.Addr, End: s.Addr + s.Size})
		}
	}
	if s, ok := at[symNode]; ok {
		d.node = nodeVersion(h, s.Addr)
	}
}

// nodeVersion returns the first std::string of Node's metadata (src/node_metadata.h).
func nodeVersion(h managed.Host, at uint64) string {
	var head [8]byte
	if h.Read(at, head[:]) != len(head) {
		return ""
	}
	text := make([]byte, 24)
	text = text[:h.Read(binary.LittleEndian.Uint64(head[:]), text)]
	text, _, _ = bytes.Cut(text, []byte{0})
	for _, c := range text {
		if c != '.' && (c < '0' || c > '9') {
			return ""
		}
	}
	return string(text)
}
