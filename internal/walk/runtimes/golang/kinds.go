// SPDX-License-Identifier: Apache-2.0

package golang

// funcKind is a deviation from the pcsp table.
type funcKind uint8

const (
	kindPlain funcKind = iota
	// kindRoot is an outermost function.
	kindRoot
	// kindStackEnd ends the stack after a change of stacks.
	kindStackEnd
	kindMorestack
	// kindSystemStack continues at curg.sched until Go 1.20.
	kindSystemStack
	kindCgoCall
	// kindInjected is called for a signal handler; the caller's pc is exact.
	kindInjected
	// kindTrampoline is a signal handler's first frame; it returns to the exact pc of sigreturn.
	kindTrampoline
	kindSigreturn
	kindFollow
	kindGogo
	// kindReschedules gives the thread's goroutine up, and calls schedule.
	kindReschedules
)

// Functions in assembly share their names with plain wrappers.
var kinds = map[string]funcKind{
	"runtime.goexit":               kindRoot,
	"runtime.mstart":               kindRoot,
	"runtime.rt0_go":               kindRoot,
	"runtime.mcall":                kindStackEnd,
	"runtime.clone":                kindStackEnd,
	"gogo":                         kindGogo,
	"runtime.gogo":                 kindGogo,
	"runtime.switchToCrashStack0":  kindStackEnd,
	"runtime.goschedImpl":          kindReschedules,
	"runtime.preemptPark":          kindReschedules,
	"runtime.morestack":            kindMorestack,
	"runtime.systemstack":          kindSystemStack,
	"runtime.asmcgocall":           kindCgoCall,
	"runtime.sigpanic":             kindInjected,
	"runtime.sigpanic0":            kindInjected,
	"runtime.asyncPreempt":         kindInjected,
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

// kind returns how a function deviates from pcsp. spWrite means that it may load the stack pointer, and pcsp does not
// hold everywhere.
func (t *funcs) kind(f *funcInfo) (k funcKind, spWrite bool) {
	k = kinds[string(t.name(f))]
	spWrite = f.flag&flagSPWrite != 0
	if f.flag&(flagAsm|flagTopFrame) == 0 && !spWrite && k != kindInjected && k != kindReschedules {
		return kindPlain, false // a wrapper
	}
	if f.flag&flagTopFrame != 0 && k == kindPlain {
		k = kindRoot
	}
	return k, spWrite
}
