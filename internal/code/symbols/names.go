// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"strings"

	"prywalk/internal/store/symbolized"

	"github.com/ianlancetaylor/demangle"
)

// Limits in bytes: nested templates grow exponentially.
const (
	maxMangled    = 16 << 10
	demangledBits = 15
)

func displayName(system string) (name string, demangled bool) {
	base, plt := strings.CutSuffix(system, "@plt")
	base, cold := cutCloneSuffix(cutVersion(base))
	name = base
	if isMangled(base) && len(base) <= maxMangled {
		name = demangleSafely(base)
		demangled = name != base
	}
	if plt {
		name += "@plt"
	}
	return name + cold, demangled
}

func cutVersion(name string) string {
	if i := strings.IndexByte(name, '@'); i > 0 && name[i:] != "@plt" {
		return name[:i]
	}
	return name
}

func demangleSafely(name string) (out string) {
	defer func() {
		if recover() != nil || out == "" {
			out = name
		}
	}()
	return demangle.Filter(name, demangle.NoParams, demangle.MaxLength(demangledBits))
}

func isMangled(name string) bool {
	return strings.HasPrefix(name, "_Z") || strings.HasPrefix(name, "_R") ||
		strings.HasPrefix(name, "__Z") || strings.HasPrefix(name, "___Z")
}

var cloneSuffixes = [...]string{".part", ".constprop", ".isra", ".lto_priv", ".llvm", ".cold"}

// cutCloneSuffix removes the suffixes of copies; cold is ".cold" if that was one.
func cutCloneSuffix(name string) (base, cold string) {
	for {
		s := strings.TrimRight(name, "0123456789")
		if len(s) < len(name) && strings.HasSuffix(s, ".") {
			s = s[:len(s)-1]
		} else {
			s = name
		}
		cut := false
		for _, c := range cloneSuffixes {
			if b, ok := strings.CutSuffix(s, c); ok && b != "" {
				name, cut = b, true
				if c == ".cold" {
					cold = c
				}
			}
		}
		if !cut {
			return name, cold
		}
	}
}

// Frame is a function at an address. System is Name if that is not mangled.
type Frame = symbolized.Frame
