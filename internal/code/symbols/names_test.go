// SPDX-License-Identifier: Apache-2.0

package symbols

import "testing"

func TestNamesAreDemangledForDisplay(t *testing.T) {
	for system, want := range map[string]string{
		"main":                              "main",
		"foo.part.0":                        "foo",
		"foo.constprop.12":                  "foo",
		"foo.isra.0.part.3":                 "foo",
		"foo.cold":                          "foo.cold",
		"foo.part.0.cold":                   "foo.cold",
		"foo.cold.7":                        "foo.cold",
		"foo.lto_priv.5":                    "foo",
		"foo.llvm.123456789":                "foo",
		"memcpy@@GLIBC_2.14":                "memcpy",
		"memcpy@GLIBC_2.2.5":                "memcpy",
		"malloc@plt":                        "malloc@plt",
		"main.(*T).Method":                  "main.(*T).Method",
		"slices.Sort[...]":                  "slices.Sort[...]",
		".part.0":                           ".part.0",
		"":                                  "",
		"_Z3addii":                          "add",
		"_Z3addii.cold":                     "add.cold",
		"_Z3addii@plt":                      "add@plt",
		"_ZN3foo3barIiEEvT_":                "foo::bar<int>",
		"_ZNSt6vectorIiSaIiEE9push_backEOi": "std::vector<int, std::allocator<int> >::push_back",
		"_ZN4core3ptr13drop_in_place17h0123456789abcdefE":            "core::ptr::drop_in_place",
		"_ZN4core3ptr13drop_in_place17h0123456789abcdefE.llvm.12345": "core::ptr::drop_in_place",
		"_RNvNtCsgEmfK2I1SDS_4core10intrinsics8unlikely":             "core::intrinsics::unlikely",
		"_ZN9hashbrown3raw21RawTable$LT$T$C$A$GT$14reserve_rehash17h725f7eb85f5e545dE": "" +
			"hashbrown::raw::RawTable<T,A>::reserve_rehash",
		"_Znot mangled": "_Znot mangled",
	} {
		if got, _ := displayName(system); got != want {
			t.Errorf("%q: got %q, want %q", system, got, want)
		}
	}
}

func FuzzDisplay(f *testing.F) {
	f.Add("_ZNSt6vectorIiSaIiEE9push_backEOi")
	f.Add("_RCC0")
	f.Add("foo.part.0.cold@plt")
	f.Add("_RNvNtCsgEmfK2I1SDS_4core10intrinsics8unlikely")
	f.Fuzz(func(t *testing.T, s string) {
		if name, _ := displayName(s); name == "" && s != "" && s[0] != '@' {
			t.Errorf("%q becomes an empty name", s)
		}
	})
}
