// SPDX-License-Identifier: Apache-2.0

package symbols

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"sort"
	"strconv"
	"sync"
)

var errKernelHidden = errors.New("kernel symbol addresses are hidden from this user (kernel.kptr_restrict)")

// KernelNames are the kernel's functions, some 100,000.
type KernelNames struct {
	funcs []kernelFunc // by address
	text  []byte       // names, concatenated
}

type kernelFunc struct {
	addr  uint64
	text  uint32 // offset of its name, which a newline ends
	owner uint32 // number of the kernel or module, or of a single program: its functions lie side by side
}

const (
	kernelPage = 4 << 10
	bpfModule  = "[bpf]"
)

// ReadKernelNamesOnce reads /proc/kallsyms once (0.1 s): modules loaded later have no names.
var ReadKernelNamesOnce = sync.OnceValues(readKernelNames)

func readKernelNames() (*KernelNames, error) {
	b, err := os.ReadFile("/proc/kallsyms")
	if err != nil {
		return nil, fmt.Errorf("names of the kernel's functions: %w", err)
	}
	return parseKernelNames(b)
}

// parseKernelNames parses lines of address, kind, name, [module]. Programs of [bpf] get that name: they have no sizes,
// and those that are not listed lie among them.
func parseKernelNames(b []byte) (*KernelNames, error) {
	k := &KernelNames{}
	var module []byte
	owner := uint32(0)
	for line := range bytes.Lines(b) {
		addr, rest, _ := bytes.Cut(line, []byte(" "))
		kind, rest, _ := bytes.Cut(rest, []byte(" "))
		name, in, _ := bytes.Cut(bytes.TrimSpace(rest), []byte("\t"))
		if len(kind) != 1 || !bytes.ContainsAny(kind, "tTwW") || len(name) == 0 {
			continue
		}
		value, err := strconv.ParseUint(string(addr), 16, 64)
		if err != nil || value == 0 || len(k.text)+len(name) >= math.MaxUint32 {
			continue
		}
		// what bpf, ftrace and kprobes generate is not side by side
		if !bytes.Equal(in, module) || string(in) == bpfModule || bytes.HasPrefix(in, []byte("[__builtin__")) {
			module = in
			owner++
		}
		if string(in) == bpfModule {
			name = in
		}
		k.funcs = append(k.funcs, kernelFunc{value, uint32(len(k.text)), owner})
		k.text = append(append(k.text, name...), '\n')
	}
	if len(k.funcs) == 0 {
		return nil, errKernelHidden
	}
	slices.SortStableFunc(k.funcs, func(a, b kernelFunc) int { return cmp.Compare(a.addr, b.addr) })
	return k, nil
}

// Name returns the function at an address, or "". A function ends at the next one of the kernel or of its module; the
// last one, at the end of its page: classic BPF and modules loaded later are not listed. Of several names the last
// counts: the first are labels, as _stext.
func (k *KernelNames) Name(addr uint64) string {
	i := sort.Search(len(k.funcs), func(i int) bool { return k.funcs[i].addr > addr })
	if i == 0 {
		return ""
	}
	f := k.funcs[i-1]
	isLast := i == len(k.funcs) || k.funcs[i].owner != f.owner
	if isLast && addr/kernelPage != f.addr/kernelPage {
		return ""
	}
	return string(k.name(f))
}

func (k *KernelNames) name(f kernelFunc) []byte {
	name, _, _ := bytes.Cut(k.text[f.text:], []byte("\n"))
	return name
}

// FuncRange returns the addresses from a function's start to the next one's; 0, 0 if none.
func (k *KernelNames) FuncRange(name string) (from, to uint64) {
	i := slices.IndexFunc(k.funcs, func(f kernelFunc) bool { return string(k.name(f)) == name })
	if i < 0 {
		return 0, 0
	}
	for _, f := range k.funcs[i:] {
		if f.addr > k.funcs[i].addr {
			return k.funcs[i].addr, f.addr
		}
	}
	return 0, 0
}

// KernelAddressesVisible reports whether this user sees addresses, by the first line.
func KernelAddressesVisible() bool {
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		return false
	}
	defer f.Close()
	var b [256]byte
	n, _ := f.Read(b[:]) // an empty line is no address
	line, _, _ := bytes.Cut(b[:n], []byte(" "))
	addr, err := strconv.ParseUint(string(line), 16, 64)
	return err == nil && addr != 0
}
