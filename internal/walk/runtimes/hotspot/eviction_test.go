// SPDX-License-Identifier: Apache-2.0

package hotspot

import "testing"

// Class memory can be shared by methods.
func TestTablesOfAllMethodsAreBounded(t *testing.T) {
	f := newNamed(namedReleases["JDK 17"])
	c := f.newClass("com/example/Cart", "Cart.java")
	item := f.newMethod(c, 2, "item", 20, 0<<3|7)
	n := f.open(t).frameSource()
	begin(n, nil)
	n.ready(codeAt)
	n.methods.byAddress[8], n.methods.kept = &method{}, maxKept
	m, err := n.methods.methodAt(item)
	if err != nil || n.methods.byAddress[8] == nil || n.methods.kept != maxKept+m.bytes() {
		t.Errorf("%v: %d methods, %d bytes; want two", m, len(n.methods.byAddress), n.methods.kept)
	}
	n.methods.drop(item)
	n.methods.drop(8)
	n.methods.byAddress[8], n.methods.kept = &method{lines: make([]byte, maxKept+1)}, maxKept+1
	if m, err = n.methods.methodAt(item); err != nil || len(n.methods.byAddress) != 1 || n.methods.kept != m.bytes() {
		t.Errorf("%v: %d methods, %d bytes; want one", m, len(n.methods.byAddress), n.methods.kept)
	}
}

func TestUnusedEntriesAreDropped(t *testing.T) {
	const second = 1e9
	n := (&VM{}).frameSource()
	n.threads.byTID, n.threads.lastNames = map[int]threadID{7: {}}, map[int]provenName{}
	steady, steadyCode := &method{}, &nmethod{}
	n.methods.byAddress[1], n.compiled.byStart[1], n.sites[site{pc: 1}] = steady, steadyCode, &codeInfo{code: steadyCode}
	n.sites[site{pc: 2}] = &codeInfo{interp: interpretedFrameComplete}
	n.threads.lastNames[7] = provenName{name: "main"}
	most := 0
	for i := range uint64(2 * 3600) {
		at := int64(i+1) * second
		steady.checked, steadyCode.checked = at, at
		for k := range uint64(5) {
			addr := 100 + 5*i + k
			c := &nmethod{checked: at}
			n.methods.byAddress[addr], n.compiled.byStart[addr] = &method{checked: at}, c
			n.sites[site{pc: addr}] = &codeInfo{code: c}
			n.threads.lastNames[int(addr)] = provenName{name: "short"}
		}
		n.evictIdle(at)
		most = max(most, len(n.methods.byAddress), len(n.compiled.byStart), len(n.sites), len(n.threads.lastNames))
	}
	if limit := 5*121 + 2; most > limit {
		t.Errorf("%d entries are kept, not at most %d", most, limit)
	}
	if n.methods.byAddress[1] != steady || n.compiled.byStart[1] != steadyCode ||
		n.sites[site{pc: 1}] == nil || n.sites[site{pc: 2}] == nil ||
		n.threads.lastNames[7].name != "main" {
		t.Error("what is met all the time is dropped")
	}
	n.evictIdle(0) // a core file
	if n.methods.byAddress[1] != steady {
		t.Error("dropped without a time")
	}
}
