// SPDX-License-Identifier: Apache-2.0

package waits

import "strings"

// Name is a function of a stack, and its file.
type Name struct{ Function, Module string }

// MaxNames bounds the examined functions.
const MaxNames = 14

// recognise gives the innermost known primitive below which functions only forward the wait: malloc's lock, not the
// mutex around malloc.
func recognise(stack []Name) primitive {
	p, _ := decide(stack)
	return p
}

// IsDecided reports whether outer functions cannot change what a stack waits for.
func IsDecided(stack []Name) bool {
	_, done := decide(stack)
	return done
}

func decide(stack []Name) (p primitive, done bool) {
	musl := false
	for i := range stack[:min(len(stack), MaxNames)] {
		n := &stack[i]
		name, _, _ := strings.Cut(n.Function, "@")
		plain := symbol(name)
		musl = musl || isMusl(n.Module) || strings.HasPrefix(plain, "timedwait")
		if found, ok := libcPrimitives[plain]; ok {
			found.musl = musl
			found.foreign = musl && found.kind != Mutex && found.kind != RWLock
			return found, len(stack) >= MaxNames || isOuterKnown(found.kind, stack[i:])
		}
		for j := range libraryPrimitives {
			if strings.Contains(name, libraryPrimitives[j].part) {
				p = libraryPrimitives[j].primitive
				p.foreign = true
				return p, true
			}
		}
		if p.kind == None {
			p = weakPrimitive(name, plain)
		}
		// musl's inner functions have no or wrong names
		inside := n.Module == stack[0].Module && (name == "" || isMusl(n.Module))
		if !inside && !isBelowPrimitive(name) {
			return p, true
		}
	}
	return p, len(stack) >= MaxNames
}

// isOuterKnown reports whether functions outward of stack, which begins with a primitive's function, cannot change what
// the primitive is part of.
func isOuterKnown(k Kind, stack []Name) bool {
	switch k {
	case Semaphore:
		return semaphoreDecided(stack)
	case Condition:
		_, decided := hotspotWait(stack)
		return decided
	}
	return true
}
