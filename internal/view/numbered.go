// SPDX-License-Identifier: Apache-2.0

package view

// Numbered gives the number of x in a list of things that are each there once, and puts it at the end if it is new.
// index has the numbers of all that are in the list.
func Numbered[T comparable, N int | int32](list *[]T, index map[T]N, x T) N {
	n, ok := index[x]
	if !ok {
		n = N(len(*list))
		*list = append(*list, x)
		index[x] = n
	}
	return n
}
