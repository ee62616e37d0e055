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

// ErrKernelHidden means that kernel.kptr_restrict hides the addresses from this user.
var ErrKernelHidden = errors.New("kernel symbol addresses are hidden from this user (kernel.kptr_restrict)")

// KernelNames are the kernel's functions, some 100,000.
type KernelNames struct {
	funcs []kernelFunc // by address
	text  []byte       // names, concatenated
}

type kernelFunc struct {
	addr     uint64
	from, to uint32
}

// ReadKernelNamesOnce reads /proc/kallsyms once (0.1 s): modules loaded later have no names.
var ReadKernelNamesOnce = sync.OnceValues(readKernelNames)

func readKernelNames() (*KernelNames, error) {
	b, err := os.ReadFile("/proc/kallsyms")
	if err != nil {
		return nil, fmt.Errorf("names of the kernel's functions: %w", err)
	}
	return parseKernelNames(b)
}

// parseKernelNames parses lines of address, kind, name, [module].
func parseKernelNames(b []byte) (*KernelNames, error) {
	k := &KernelNames{}
	for line := range bytes.Lines(b) {
		addr, rest, _ := bytes.Cut(line, []byte(" "))
		kind, name, _ := bytes.Cut(rest, []byte(" "))
		if i := bytes.IndexAny(name, " \t\n"); i >= 0 {
			name = name[:i] // a module follows
		}
		if len(kind) != 1 || !bytes.ContainsAny(kind, "tTwW") || len(name) == 0 {
			continue
		}
		value, err := strconv.ParseUint(string(addr), 16, 64)
		if err != nil || value == 0 || len(k.text)+len(name) > math.MaxUint32 {
			continue
		}
		from := uint32(len(k.text))
		k.text = append(k.text, name...)
		k.funcs = append(k.funcs, kernelFunc{value, from, from + uint32(len(name))})
	}
	if len(k.funcs) == 0 {
		return nil, ErrKernelHidden
	}
	slices.SortStableFunc(k.funcs, func(a, b kernelFunc) int { return cmp.Compare(a.addr, b.addr) })
	return k, nil
}

// Name returns the function at an address, or "". Of several names the last counts: the first are labels, as _stext.
func (k *KernelNames) Name(addr uint64) string {
	i := sort.Search(len(k.funcs), func(i int) bool { return k.funcs[i].addr > addr })
	if i == 0 {
		return ""
	}
	f := k.funcs[i-1]
	return string(k.text[f.from:f.to])
}

// FuncRange returns the addresses from a function's start to the next one's; 0, 0 if none.
func (k *KernelNames) FuncRange(name string) (from, to uint64) {
	i := slices.IndexFunc(k.funcs, func(f kernelFunc) bool { return string(k.text[f.from:f.to]) == name })
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
