// SPDX-License-Identifier: Apache-2.0

package golang

// kind says how a function differs from what its pcsp table tells.
type kind uint8

const (
	kindPlain kind = iota
	// kindRoot: nothing is further out (FuncFlag TOPFRAME).
	kindRoot
	// kindEnds: where the function has left its caller's stack for good, that
	// stack has ended: mcall parks the goroutine, clone starts a thread.
	kindEnds
	// kindMorestack: continues at curg.sched.
	kindMorestack
	// kindSystemStack: until Go 1.20 continues at curg.sched, since by the frame pointer.
	kindSystemStack
	// kindCgoCall: asmcgocall, which keeps its way back on the new stack.
	kindCgoCall
	// kindInjected: a call that a signal handler pushed; the caller's pc is
	// exact.
	kindInjected
	// kindTrampoline: a signal handler's first frame, whose return address is
	// the exact pc of the code that restores the context.
	kindTrampoline
	// kindSigreturn: the code that restores the context.
	kindSigreturn
	// kindFollow: assembly that saves registers in its own way.
	kindFollow
	// kindGogo: continues with another goroutine.
	kindGogo
)

// kinds names the special functions. All but those that are written in Go are
// assembly, whose wrappers share their names and are plain.
var kinds = map[string]kind{
	"runtime.goexit":               kindRoot,
	"runtime.mstart":               kindRoot,
	"runtime.rt0_go":               kindRoot,
	"runtime.mcall":                kindEnds,
	"runtime.clone":                kindEnds,
	"gogo":                         kindGogo,
	"runtime.gogo":                 kindGogo,
	"runtime.switchToCrashStack0":  kindEnds,
	"runtime.morestack":            kindMorestack,
	"runtime.systemstack":          kindSystemStack,
	"runtime.asmcgocall":           kindCgoCall,
	"runtime.sigpanic":             kindInjected,
	"runtime.sigpanic0":            kindInjected,
	"runtime.asyncPreempt":         kindInjected,
	"runtime.debugCallV1":          kindInjected,
	"runtime.debugCallV2":          kindInjected,
	"runtime.sigtramp":             kindTrampoline,
	"runtime.cgoSigtramp":          kindTrampoline,
	"runtime.sigreturn":            kindSigreturn,
	"runtime.sigreturn__sigaction": kindSigreturn,
	"crosscall2":                   kindFollow,
	"runtime.sigprofNonGoWrapper":  kindFollow,
	"sigprofNonGoWrapper":          kindFollow,
	"runtime.cgocallback":          kindFollow,
}

// spWriters are the functions that load the stack pointer, for tables without
// flags (until Go 1.16).
var spWriters = map[string]bool{
	"runtime.systemstack": true, "runtime.mcall": true, "runtime.morestack": true,
	"runtime.asmcgocall": true, "runtime.cgocallback": true, "runtime.clone": true,
	"runtime.gogo": true, "runtime.nanotime": true, "runtime.nanotime1": true,
	"runtime.cgocallback_gofunc": true, "runtime.walltime": true,
	"runtime.walltime1": true, "runtime.sigfwd": true, "runtime.callCgoMmap": true,
	"runtime.callCgoMunmap": true, "runtime.callCgoSigaction": true,
}

// kind classifies a function; spWrite says that its pcsp table ends to be true
// somewhere in it.
func (t *Table) kind(f *fn) (k kind, spWrite bool) {
	name := t.name(f)
	k = kinds[string(name)]
	if t.h.old() && f.flag == 0 {
		return k, spWriters[string(name)]
	}
	spWrite = f.flag&flagSPWrite != 0
	if !t.h.old() && f.flag&flagAsm == 0 && !spWrite && k != kindInjected && f.flag&flagTopFrame == 0 {
		return kindPlain, false // a wrapper
	}
	if f.flag&flagTopFrame != 0 && k == kindPlain {
		k = kindRoot
	}
	return k, spWrite
}
