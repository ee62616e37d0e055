// SPDX-License-Identifier: Apache-2.0

package ptrace

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"sync"
	"syscall"
)

// signalState is what this process was started with.
type signalState struct {
	ignored, blocked signalSet
	// exact: both are known. Else blocked is not, and ignored has those only that the runtime leaves alone.
	exact bool
}

// startSignals gives the signals that were ignored and blocked when this process was started. The Go runtime puts its
// handlers in the place of SIG_IGN before any other code runs (runtime/signal_unix.go, initsig), and unblocks some
// signals. What was there before it keeps to itself, in runtime.fwdSig and runtime.initSigmask. They are found by the
// symbol table of this program. A program without one (stripped) knows of the signals that the runtime does not
// take: SIGHUP, SIGINT, those of job control, and 32 to 34.
var startSignals = sync.OnceValue(func() signalState {
	s := signalState{ignored: stillIgnored}
	at, err := runtimeVariables("runtime.fwdSig", "runtime.initSigmask")
	if err != nil {
		return s
	}
	var handlers [(lastSignal + 1) * 8]byte
	var mask [8]byte
	if readVM(os.Getpid(), at[0], handlers[:]) != len(handlers) || readVM(os.Getpid(), at[1], mask[:]) != len(mask) {
		return s
	}
	for sig := syscall.Signal(1); sig <= lastSignal; sig++ {
		if binary.LittleEndian.Uint64(handlers[8*sig:]) == sigIgn {
			s.ignored |= setOf(sig)
		}
	}
	s.blocked, s.exact = signalSet(binary.LittleEndian.Uint64(mask[:])), true
	return s
})

// IgnoredAtStart reports whether a signal was ignored when this process was started, also where the Go runtime catches
// it since.
func IgnoredAtStart(sig syscall.Signal) bool { return startSignals().ignored&setOf(sig) != 0 }

// stillIgnored are the signals that were ignored at the start, and that the runtime has left so. It is initialised
// before any code of this program can ignore a signal. glibc's posix_spawn, which make uses, ignores signal 32.
var stillIgnored = func() (set signalSet) {
	for sig := syscall.Signal(1); sig <= lastSignal; sig++ {
		if Ignored(sig) {
			set |= setOf(sig)
		}
	}
	return set
}()

// anchor is a variable whose address is known both from the symbol table and in memory: the distance between the two
// is where a position-independent program was loaded.
var anchor [1]byte

const anchorName = "prywalk/ptrace.anchor"

// runtimeVariables gives the addresses of variables of this program.
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

// symbolValue finds a symbol in a table of Elf64_Sym (System V ABI, figure 4-15). The texts of a Go program's table
// are all there is to search: decoding each symbol takes longer than the rest of a launch.
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
