// SPDX-License-Identifier: Apache-2.0

package cpython

import (
	"path"
	"strings"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

// greenletFirst never return (greenlet 3 and 2, src/greenlet/TUserGreenlet.cpp); the stack above is another greenlet's.
var greenletFirst = []string{
	"_ZN8greenlet12UserGreenlet15inner_bootstrapEP9_greenletP7_object",
	"_ZN8greenlet12UserGreenlet15inner_bootstrapERNS_4refs14_OwnedGreenletI9_greenletXadL_ZNS1_15GreenletChecker" +
		"EPvEEEERNS1_14OwnedReferenceI7_objectXadL_ZNS1_11NoOpCheckerES4_EEEE",
}

const greenletFile = "_greenlet."

// greenletEntries are file addresses.
type greenletEntries []managed.Span

// Rule implements [frames.RuleSource].
func (e greenletEntries) Rule(q frames.Query) (frames.Rule, *frames.Row, bool) {
	at := q.PC
	if q.AfterCall {
		at--
	}
	for _, s := range e {
		if s.Has(at) {
			return frames.Rule{Flags: frames.FlagRoot, Method: frames.MethodCFI}, nil, true
		}
	}
	return frames.Rule{}, nil, false
}

func endGreenlets(h managed.Host) {
	for _, m := range h.Modules() {
		if !maybePython(m) || !strings.HasPrefix(path.Base(m.Name), greenletFile) || endsGreenlets(m) {
			continue
		}
		var ends greenletEntries
		for _, s := range h.OwnSymbols(m, greenletFirst...) {
			if s.Function && s.Size > 0 {
				ends = append(ends, managed.Span{Start: s.Addr - m.Bias, End: s.Addr - m.Bias + s.Size})
			}
		}
		if len(ends) > 0 {
			m.Sources = append([]frames.RuleSource{ends}, m.Sources...)
		}
	}
}

func endsGreenlets(m *frames.Module) bool {
	if len(m.Sources) == 0 {
		return false
	}
	_, is := m.Sources[0].(greenletEntries)
	return is
}
