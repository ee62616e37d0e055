// SPDX-License-Identifier: Apache-2.0

package ruby

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"prywalk/frames"
	"prywalk/internal/walk/managed"
)

const (
	symVersion = "ruby_version"
	symObject  = "rb_cObject"
	symVM      = "ruby_current_vm_ptr"
	symExec    = "rb_vm_exec"
	symSymbols = "ruby_global_symbols"
)

// Symbols are the names that [Detect] asks of each module. They are always exported.
var Symbols = []string{symVersion, symObject}

// Detect implements [managed.Detector].
func Detect(h managed.Host) (managed.Runtime, error) {
	if h.Arch() != frames.X86_64 {
		return nil, nil
	}
	return managed.FirstOf(h, "Ruby", func(m *frames.Module) (r *Runtime, found bool, err error) {
		if m.Generated || m.Name == "" || strings.HasPrefix(m.Name, "[") {
			return nil, false, nil
		}
		syms := h.OwnSymbols(m, Symbols...)
		if len(syms) < 2 {
			return nil, false, nil
		}
		version, object := "", uint64(0)
		for _, s := range syms {
			if s.Name == symVersion {
				version = readVersion(h, s.Addr)
			} else {
				object = s.Addr
			}
		}
		if version == "" {
			return nil, false, nil
		}
		r, err = find(h, m, version, object)
		return r, true, err
	})
}

var versionForm = regexp.MustCompile(`^(\d+\.\d+)\.\d+$`)

func readVersion(h managed.Host, at uint64) string {
	var b [16]byte
	text, _, ok := bytes.Cut(b[:h.Read(at, b[:])], []byte{0})
	if !ok || !versionForm.Match(text) {
		return ""
	}
	return string(text)
}

var ownFile = regexp.MustCompile(`^(lib)?ruby[-\d.]*(\.so.*)?$`)

func find(h managed.Host, m *frames.Module, version string, object uint64) (*Runtime, error) {
	l, ok := layoutOf(versionForm.FindStringSubmatch(version)[1])
	if !ok {
		return nil, fmt.Errorf("version %s of Ruby is not known (%s are)", version, knownReleases)
	}
	r := newRuntime(h, m, &l)
	r.version, r.vm.cObjectAt = version, object
	machine := &r.vm
	if machine.heap.word(object) == 0 {
		return nil, managed.ErrNotYet
	}
	if at, _, ok := h.Symbol(m, symVM); ok {
		vm := machine.heap.word(at)
		if vm == 0 || machine.listHead(vm) == 0 {
			return nil, managed.ErrNotYet
		}
		if !anyTry(func() bool { return machine.verify(vm) }) {
			return nil, layoutError(l.release)
		}
	} else if !anyTry(machine.find) {
		return nil, layoutError(l.release)
	}
	if at, size, ok := h.Symbol(m, symExec); ok && size > 0 {
		r.tagged.vmExec = managed.Span{Start: at, End: at + size}
	}
	if at, _, ok := h.Symbol(m, symSymbols); ok && machine.heap.isSymbols(at) {
		r.known.symbols = at
	} else {
		r.known.symbols = machine.findSymbols()
	}
	machine.readThreads()
	r.tagged.code = managed.Span{Start: m.Start, End: m.End}
	r.tagged.find(machine)
	r.makePlan()
	return r, nil
}

const maxTries = 4

func anyTry(proof func() bool) bool {
	for range maxTries {
		if proof() {
			return true
		}
	}
	return false
}

func layoutError(release managed.Release) error {
	return fmt.Errorf("its threads are not laid out as those of Ruby %v on x86-64", release)
}
