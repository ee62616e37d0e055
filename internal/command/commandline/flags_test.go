// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func TestABareNumberIsPercent(t *testing.T) {
	for _, c := range []struct{ text, share, growth string }{
		{"1", "1%", "1%"}, {"0.5", "0.5%", "0.5%"}, {"2%", "2%", "2%"}, {"0.02", "0.02%", "0.02%"}, {"7", "7%", "7%"},
		{"100", "100%", "100%"}, {"0", "", "0%"}, {"250", "", "250%"}, {"5 %", "5%", "5%"},
		{"-1", "", ""}, {"much", "", ""}, {"NaN", "", ""}, {"Inf%", "", ""}, {"", "", ""}, {"%", "", ""},
	} {
		var share, growth float64
		for _, f := range []struct {
			flag pflag.Value
			want string
		}{{MaxShare(&share), c.share}, {Percent(&growth), c.growth}} {
			err := f.flag.Set(c.text)
			if (err == nil) != (f.want != "") || err == nil && f.flag.String() != f.want {
				t.Errorf("%q: %v, %v, want %q", c.text, f.flag, err, f.want)
			}
		}
	}
}

func TestTimesHaveTheUnitsThatPeopleWrite(t *testing.T) {
	for _, c := range []struct {
		text string
		want time.Duration
	}{
		{"30", 30 * time.Second}, {"0.5", time.Second / 2}, {"2m", 2 * time.Minute}, {"10min", 10 * time.Minute},
		{"1h30min", 90 * time.Minute}, {"5sec", 5 * time.Second}, {"100us", 100 * time.Microsecond},
		{"20ms", 20 * time.Millisecond}, {"0", 0}, {"0s", 0},
		{"soon", -1}, {"", -1}, {"NaN", -1}, {"-3", -1}, {"-3s", -1}, {"m", -1},
	} {
		var s time.Duration
		var m Moment
		if err := Seconds(&s).Set(c.text); (err == nil) != (c.want > 0) || err == nil && s != c.want {
			t.Errorf("duration %q: %v, %v", c.text, s, err)
		}
		if err := RecordingTime(&m).Set(c.text); (err == nil) != (c.want >= 0) || err == nil && m.since != c.want {
			t.Errorf("time %q: %v, %v", c.text, m, err)
		}
	}
	var s time.Duration
	if err := Seconds(&s).Set("1e300"); err == nil {
		t.Errorf("1e300 seconds are %v", s)
	}
}

func TestAddressesHaveAPort(t *testing.T) {
	for text, want := range map[string]bool{
		"localhost:8080": true, ":8080": true, "localhost:": true, "[::1]:80": true, "10.0.0.1:0": true, ":": true,
		"": false, "8080": false, "localhost": false, "localhost:99999": false, ":-1": false, ":1x": false, "::1": false,
		"http://localhost:8080": false,
	} {
		var a string
		if err := Address(&a).Set(text); (err == nil) != want || want && a != text {
			t.Errorf("%q: %q, %v", text, a, err)
		}
	}
}

func FuzzTimes(f *testing.F) {
	for _, s := range []string{"10min", "1e9", "-0", "1h1m1s", "9223372036854775807ns"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var s time.Duration
		if err := Seconds(&s).Set(text); err == nil && (s <= 0 || s.Seconds() > maxSeconds) {
			t.Errorf("%q is %v", text, s)
		}
		var g float64
		if err := Percent(&g).Set(text); err == nil && !(g >= 0 && g < 1e6) {
			t.Errorf("%q is %v", text, g)
		}
	})
}
