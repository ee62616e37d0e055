! Matrices, sorting and text, for ever.
module parts
contains
  recursive subroutine quick(a)
    real(8), intent(inout) :: a(:)
    integer :: i, j
    real(8) :: p, t
    if (size(a) < 2) return
    p = a(size(a)/2)
    i = 1; j = size(a)
    do
      do while (a(i) < p); i = i + 1; end do
      do while (a(j) > p); j = j - 1; end do
      if (i >= j) exit
      t = a(i); a(i) = a(j); a(j) = t
      i = i + 1; j = j - 1
    end do
    call quick(a(:i-1))
    call quick(a(j+1:))
  end subroutine
  function text(n) result(total)
    integer, intent(in) :: n
    integer :: total, i
    character(len=40) :: line
    total = 0
    do i = 1, n
      write(line, '(i8,f16.6,e14.6)') i, i*1.5, i/3.0
      total = total + len_trim(adjustl(line)) + index(line, '7')
    end do
  end function
end module
program work
  use parts
  real(8) :: a(120,120), b(120,120), c(120,120), v(20000), sink
  integer :: round
  call random_number(a); call random_number(b)
  sink = 0
  do round = 1, huge(round)
    c = matmul(a, b)
    a = sqrt(abs(sin(c) + transpose(b)))
    call random_number(v)
    call quick(v)
    sink = sink + v(3) + text(300) + sum(c)
    if (sink < -1d300) print *, sink
  end do
end program

! SPDX-License-Identifier: Apache-2.0
