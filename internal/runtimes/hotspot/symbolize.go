// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"strings"

	"prywalk/internal/managed"
)

// Symbolize implements [managed.FrameSource].
func (n *Names) Symbolize(r managed.Ref, l managed.Live, out []managed.Frame) ([]managed.Frame, managed.Certainty) {
	if n == nil || n.layout == nil {
		return out, managed.Freed
	}
	var ok bool
	switch r.Kind {
	case refCompiled:
		out, ok = n.describeCompiled(r, out)
	case refInterpreted:
		out, ok = n.describeInterpreted(r, out)
	case refStub:
		out, ok = append(out, managed.Frame{Function: n.stubName(r), Type: "stub"}), true
	}
	switch {
	case !ok:
		return out, managed.Freed
	case l != nil && l.Unchanged():
		return out, managed.Proven
	}
	return out, managed.Checked
}

func (n *Names) describeInterpreted(r managed.Ref, out []managed.Frame) ([]managed.Frame, bool) {
	m := n.methodAt(r.Object)
	if m == nil || m.cookie != r.Cookie {
		return out, false
	}
	f := n.frameOf(m, int32(min(r.Position, noBytecode-1)), "interpreted")
	if r.Position == noBytecode {
		f.Line = f.StartLine
	}
	if m.size == 0 {
		f.Type = "native"
	}
	return append(out, f), true
}

func (n *Names) describeCompiled(r managed.Ref, out []managed.Frame) ([]managed.Frame, bool) {
	c := n.code[r.Object]
	if c == nil || c.cookie() != r.Cookie {
		return out, false
	}
	kind := "c2"
	switch {
	case c.native:
		kind = "native"
	case c.compLevel < 4:
		kind = "c1"
	}
	n.vm.cached.enable(n.at)
	n.unread = false
	n.callsAt(c, r.Position)
	n.vm.cached.disable()
	if n.unread {
		return out, false
	}
	isNew := c.since >= n.at
	for i, at := range n.calls {
		m := n.methodAt(at.method)
		if m == nil {
			return out, false
		}
		isNew = isNew || m.since >= n.at
		f := n.frameOf(m, at.bci, kind)
		f.Inlined = i < len(n.calls)-1
		out = append(out, f)
	}
	return out, !isNew || !n.doubted() // replaced meanwhile
}

func (n *methodNames) frameOf(m *method, bci int32, kind string) managed.Frame {
	f := managed.Frame{Function: m.name, File: m.file, Type: kind, StartLine: m.first}
	if f.Line = f.StartLine; bci > 0 {
		f.Line = n.lineAt(m, bci)
	}
	return f
}

func (n *Names) stubName(r managed.Ref) string {
	n.vm.cached.enable(n.at)
	defer n.vm.cached.disable()
	switch r.Position {
	case atCallStub:
		return "call_stub"
	case atStaticCallStub:
		return "static_call_stub"
	}
	m := n.vm.memory()
	if r.Position >= atCodelet {
		return "Interpreter (" + strings.TrimSpace(m.name(r.Object)) + ")"
	}
	return n.vm.blobName(r.Object)
}
