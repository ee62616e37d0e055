// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"encoding/binary"
	"os"
	"sync"
	"syscall"

	"prywalk/internal/code/elffile"
	"prywalk/internal/host/procmem"
)

type signalState struct {
	ignored, blocked procmem.SignalSet
	// exact: both are complete. Else blocked is unknown, and ignored has only signals that the runtime does not handle.
	exact bool
}

// The Go runtime replaces SIG_IGN by its handlers before other code runs (runtime/signal_unix.go, initsig), and
// unblocks some signals. The original state is in runtime.fwdSig and runtime.initSigmask, found by this program's
// symbol table. A stripped program has only the signals that the runtime does not handle: SIGHUP, SIGINT, job control,
// 32 to 34.
var startSignals = sync.OnceValue(func() signalState {
	s := signalState{ignored: stillIgnored}
	at, err := runtimeVariables("runtime.fwdSig", "runtime.initSigmask")
	if err != nil {
		return s
	}
	var handlers [(lastSignal + 1) * 8]byte
	var mask [8]byte
	if !readSelf(at[0], handlers[:]) || !readSelf(at[1], mask[:]) {
		return s
	}
	for sig := syscall.Signal(1); sig <= lastSignal; sig++ {
		if binary.LittleEndian.Uint64(handlers[8*sig:]) == procmem.SigIgn {
			s.ignored |= procmem.SetOf(sig)
		}
	}
	s.blocked, s.exact = procmem.SignalSet(binary.LittleEndian.Uint64(mask[:])), true
	return s
})

// IgnoredAtStart reports whether a signal was ignored at this process's start.
func IgnoredAtStart(sig syscall.Signal) bool { return startSignals().ignored&procmem.SetOf(sig) != 0 }

// stillIgnored is read before other code of this program can ignore signals.
var stillIgnored = ignoredNow()

// Ignored reports the present state, which os/signal does not know of stop signals.
func Ignored(sig syscall.Signal) bool { return ignoredNow()&procmem.SetOf(sig) != 0 }

func ignoredNow() procmem.SignalSet {
	var s procmem.Status
	if procmem.ReadStatus(os.Getpid(), &s) != nil {
		return 0 // /proc is not mounted
	}
	return procmem.SignalSet(s.SigIgn)
}

func readSelf(addr uint64, b []byte) bool {
	n, err := procmem.ReadVM(os.Getpid(), addr, b)
	return err == nil && n == len(b)
}

// The difference of anchor's addresses, by the symbol table and in memory, is the load bias of a position-independent
// program.
var anchor [1]byte

const anchorName = "prywalk/internal/host/launch.anchor"

func runtimeVariables(names ...string) ([]uint64, error) {
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	file, err := elffile.Open(f, st.Size())
	if err != nil {
		return nil, err
	}
	defer file.Release()
	at, left := make([]uint64, len(names)+1), len(names)+1
	file.EachNamed(elffile.SymTab, append(names, anchorName), func(name int, s *elffile.Symbol) bool {
		at[name] = s.Value
		left--
		return left > 0
	})
	if left > 0 {
		return nil, elffile.ErrNoSection
	}
	for i := range names {
		at[i] += anchorAddress() - at[len(names)]
	}
	return at, nil
}
