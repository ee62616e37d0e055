// SPDX-License-Identifier: Apache-2.0

package launch

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"sync"
	"syscall"

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
	file, err := elf.NewFile(f)
	if err != nil {
		return nil, err
	}
	table, texts := file.Section(".symtab"), file.Section(".strtab")
	if table == nil || texts == nil {
		return nil, elf.ErrNoSymbols
	}
	symbols, err := table.Data()
	if err != nil {
		return nil, err
	}
	text, err := texts.Data()
	if err != nil {
		return nil, err
	}
	at, ok := symbolValue(symbols, text, anchorName)
	if !ok {
		return nil, elf.ErrNoSymbols
	}
	var found []uint64
	for _, name := range names {
		value, ok := symbolValue(symbols, text, name)
		if !ok {
			return nil, elf.ErrNoSymbols
		}
		found = append(found, value-at+anchorAddress())
	}
	return found, nil
}

// Decoding all symbols would take most of a launch.
func symbolValue(symbols, texts []byte, name string) (uint64, bool) {
	i := bytes.Index(texts, []byte("\x00"+name+"\x00"))
	if i < 0 {
		return 0, false
	}
	for s := symbols; len(s) >= elf.Sym64Size; s = s[elf.Sym64Size:] {
		if binary.LittleEndian.Uint32(s) == uint32(i+1) {
			return binary.LittleEndian.Uint64(s[8:]), true
		}
	}
	return 0, false
}
