package hotspot

import "testing"

// mostFirstReads is how often memory may be read for a method that is met for the first time: each is a system call.
const mostFirstReads = 6

// TestFirstMeetingOfAMethodReadsLittle: what lies together is read together.
func TestFirstMeetingOfAMethodReadsLittle(t *testing.T) {
	for name, r := range namedReleases {
		f := newNamed(r)
		code, total, _ := cart(f, r)
		v := f.open(t)
		n := v.Names()
		if !n.ready(code) {
			t.Fatalf("%s: %v", name, n.Unknown())
		}
		reads := 0
		scattered(v, &reads)
		if m := n.methodAt(total); m == nil || m.name != "com.example.Cart.total" || m.file != "Cart.java" {
			t.Errorf("%s: %+v", name, m)
		}
		if reads > mostFirstReads {
			t.Errorf("%s: %d reads", name, reads)
		}
		n.moment()
		reads = 0
		if n.moment(); n.heap == 0 || reads > 1 {
			t.Errorf("%s: %d reads of the collector's counts", name, reads)
		}
	}
}

// BenchmarkFirstMeeting is that on memory that is at hand; in another process each read is a system call besides.
func BenchmarkFirstMeeting(b *testing.B) {
	r := namedReleases["JDK 17"]
	f := newNamed(r)
	code, total, _ := cart(f, r)
	v := f.open(b)
	n := v.Names()
	n.ready(code)
	reads := 0
	scattered(v, &reads)
	b.ReportAllocs()
	for b.Loop() {
		clear(n.methods)
		v.near.drop()
		if n.methodAt(total) == nil {
			b.Fatal("no method")
		}
	}
	b.ReportMetric(float64(reads)/float64(b.N), "reads/op")
}
