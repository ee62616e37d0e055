// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"strings"

	"prywalk/internal/walk/managed"
)

func (j *javaFrames) symbolize(r managed.Ref, l managed.Live, out []managed.Frame) (
	[]managed.Frame, managed.Certainty,
) {
	if j == nil || j.vm.nameLayout == nil {
		return out, managed.Freed
	}
	var err error
	switch r.Kind {
	case refCompiled:
		out, err = j.describeCompiled(r, out)
	case refInterpreted:
		out, err = j.describeInterpreted(r, out)
	case refStub:
		out = append(out, managed.Frame{Function: j.stubName(r), Type: "stub"})
	default:
		return out, managed.Freed
	}
	switch {
	case err != nil:
		return out, managed.Freed
	case l != nil && l.Unchanged():
		return out, managed.SameMemory
	}
	return out, managed.Checked
}

const replaced = "another one may be there by now"

func (j *javaFrames) describeInterpreted(r managed.Ref, out []managed.Frame) ([]managed.Frame, error) {
	m, err := j.methods.methodAt(r.Object)
	if err == nil && m.cookie != r.Cookie {
		err = &pointerError{"Method", r.Object, replaced}
	}
	if err != nil {
		return out, err
	}
	f := j.methods.frameOf(m, int32(min(r.Position, noBytecode-1)), "interpreted")
	if r.Position == noBytecode {
		f.Line = f.StartLine
	}
	if m.bytecodeSize == 0 {
		f.Type = "native"
	}
	return append(out, f), nil
}

func (j *javaFrames) describeCompiled(r managed.Ref, out []managed.Frame) ([]managed.Frame, error) {
	nm := j.compiled.byStart[r.Object]
	if nm == nil || nm.cookie() != r.Cookie || !j.readCalls(nm, r.Position) {
		return out, &pointerError{"nmethod", r.Object, replaced + ", or its scopes cannot be read"}
	}
	calls := j.compiled.calls
	isNew := nm.since >= j.validity.copiedAt
	for i, c := range calls {
		m, err := j.methods.methodAt(c.method)
		if err != nil {
			return out, err
		}
		isNew = isNew || m.since >= j.validity.copiedAt
		f := j.methods.frameOf(m, c.bci, nm.tier())
		f.Inlined = i < len(calls)-1
		out = append(out, f)
	}
	if isNew && j.validity.doubted() {
		return out, &pointerError{"nmethod", r.Object, replaced}
	}
	return out, nil
}

func (j *javaFrames) readCalls(nm *nmethod, position uint64) bool {
	j.vm.cached.begin(j.validity.copiedAt)
	defer j.vm.cached.bypass()
	j.compiled.callsAt(nm, position)
	return !j.compiled.unread
}

func (nm *nmethod) tier() string {
	switch {
	case nm.native:
		return "native"
	case nm.compLevel < 4:
		return "c1"
	}
	return "c2"
}

func (n *methodNames) frameOf(m *method, bci int32, tier string) managed.Frame {
	f := managed.Frame{Function: m.name, File: m.file, Type: tier, StartLine: m.firstLine}
	if f.Line = f.StartLine; bci > 0 {
		f.Line = n.lineAt(m, bci)
	}
	return f
}

func (j *javaFrames) stubName(r managed.Ref) string {
	j.vm.cached.begin(j.validity.copiedAt)
	defer j.vm.cached.bypass()
	switch r.Position {
	case atCallStub:
		return "call_stub"
	case atStaticCallStub:
		return "static_call_stub"
	case atVtableStub:
		return "vtable stub"
	case atItableStub:
		return "itable stub"
	case atRoutine:
		if routine, ok := j.vm.stubs.routineAt(r.Object); ok {
			return routine.name
		}
	}
	m := j.vm.memory()
	if r.Position >= atCodelet {
		return "Interpreter (" + strings.TrimSpace(m.name(r.Object)) + ")"
	}
	return j.vm.blobName(r.Object)
}
