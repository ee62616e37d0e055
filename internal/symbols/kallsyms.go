package symbols

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
)

// ErrKernelHidden reports that the kernel shows this user no addresses of its functions (kernel.kptr_restrict).
var ErrKernelHidden = errors.New("the kernel hides the addresses of its functions from this user")

// KernelNames are the kernel's functions by address.
type KernelNames struct {
	funcs []kernelFunc // by address
}

type kernelFunc struct {
	addr uint64
	name string
}

// ReadKernelNames reads /proc/kallsyms. It takes some tens of milliseconds. Error: [ErrKernelHidden], or that of
// reading.
func ReadKernelNames() (*KernelNames, error) {
	b, err := os.ReadFile("/proc/kallsyms")
	if err != nil {
		return nil, fmt.Errorf("names of the kernel's functions: %w", err)
	}
	return ParseKernelNames(b)
}

// ParseKernelNames reads lines of an address, a letter for the kind, a name, and a module in square brackets. Lines
// that are none are passed over. Error: [ErrKernelHidden] if no function has an address.
func ParseKernelNames(b []byte) (*KernelNames, error) {
	k := &KernelNames{}
	for line := range bytes.Lines(b) {
		f := bytes.Fields(line)
		if len(f) < 3 || len(f[1]) != 1 || !bytes.ContainsAny(f[1], "tTwW") {
			continue
		}
		addr, err := strconv.ParseUint(string(f[0]), 16, 64)
		if err == nil && addr != 0 {
			k.funcs = append(k.funcs, kernelFunc{addr, string(f[2])})
		}
	}
	if len(k.funcs) == 0 {
		return nil, ErrKernelHidden
	}
	slices.SortStableFunc(k.funcs, func(a, b kernelFunc) int { return cmp.Compare(a.addr, b.addr) })
	return k, nil
}

// Name gives the function that an address lies in, "" if it lies below all of them. Of several names of one address the
// last is given: the first ones of a section are labels as _stext.
func (k *KernelNames) Name(addr uint64) string {
	i, _ := slices.BinarySearchFunc(k.funcs, addr, func(f kernelFunc, addr uint64) int {
		if f.addr <= addr {
			return -1
		}
		return 1
	})
	if i == 0 {
		return ""
	}
	return k.funcs[i-1].name
}

// KernelShown reports whether this user is shown the addresses of the kernel's functions. It reads one line only.
func KernelShown() bool {
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		return false
	}
	defer f.Close()
	var b [256]byte
	n, _ := f.Read(b[:]) // nothing: nothing is shown
	line, _, _ := bytes.Cut(b[:n], []byte(" "))
	addr, err := strconv.ParseUint(string(line), 16, 64)
	return err == nil && addr != 0
}
