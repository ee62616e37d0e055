// SPDX-License-Identifier: Apache-2.0

package hotspot

import (
	"fmt"
	"testing"
)

func TestErrorsOfMethodsNameThePointer(t *testing.T) {
	const beyond = 1 << 40 // the memory of the fake
	const badPointer = "the pointer to it is null or no multiple of 8"
	offset := func(name string) uint64 { return nameTypes[name].off }
	for _, c := range []struct {
		what, why string
		spoil     func(f *named, c class, method *uint64, constMethod uint64) (at uint64)
	}{
		{"Method", badPointer, func(_ *named, _ class, method *uint64, _ uint64) uint64 {
			*method += 4
			return *method
		}},
		{"memory", unreadable, func(_ *named, _ class, method *uint64, _ uint64) uint64 {
			*method = beyond
			return beyond + offset("Method::_constMethod")
		}},
		{"ConstMethod", badPointer, func(f *named, _ class, method *uint64, _ uint64) uint64 {
			f.put(*method+offset("Method::_constMethod"), 5)
			return 5
		}},
		{"memory", unreadable, func(f *named, _ class, method *uint64, _ uint64) uint64 {
			f.put(*method+offset("Method::_constMethod"), beyond)
			return beyond
		}},
		{"ConstantPool", badPointer, func(f *named, _ class, _ *uint64, constMethod uint64) uint64 {
			f.put(constMethod+offset("ConstMethod::_constants"), 0)
			return 0
		}},
		{"ConstantPool", "it is too short to have the method's name", func(f *named, c class, _ *uint64,
			constMethod uint64) uint64 {
			f.put16(constMethod+offset("ConstMethod::_name_index"), maxFakeConstants)
			return c.constants
		}},
		{"Klass", badPointer, func(f *named, c class, _ *uint64, _ uint64) uint64 {
			f.put(c.constants+offset("ConstantPool::_pool_holder"), 0)
			return 0
		}},
		{"Symbol", "the pointer to it is null or no multiple of 4", func(f *named, c class, _ *uint64, _ uint64) uint64 {
			f.put(c.klass+offset("Klass::_name"), 6)
			return 6
		}},
		{"Symbol", "it is no printable text", func(f *named, c class, _ *uint64, _ uint64) uint64 {
			at := f.newSymbol("com/example/\n")
			f.put(c.klass+offset("Klass::_name"), at)
			return at
		}},
		{"tags of a ConstantPool", "they are of another pool, or the constant is no text", func(f *named, c class,
			_ *uint64, _ uint64) uint64 {
			f.mem[c.tags+4+2] = constUTF8 + 1
			return c.tags
		}},
	} {
		f := newNamed(namedReleases["JDK 17"])
		in := f.newClass("com/example/Cart", "Cart.java")
		method := f.newMethod(in, 2, "item", 20)
		at := c.spoil(f, in, &method, f.word(method+offset("Method::_constMethod")))
		n := f.open(t).frameSource()
		begin(n, nil)
		n.ready(codeAt)
		m, err := n.methods.methodAt(method)
		if want := fmt.Sprintf("%s at %#x: %s", c.what, at, c.why); m != nil || err == nil || err.Error() != want {
			t.Errorf("%v, %v; want %s", m, err, want)
		}
	}
}
