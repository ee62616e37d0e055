package main
import ("testing";"time";"fmt")
func TestTmpRecord(t *testing.T){
 for _, name := range []string{"redis","python","node","java","cpp"} {
  r, stop, err := record(name, 200, 2*time.Minute)
  if err != nil { t.Fatal(err) }
  if err := r.save("/tmp/unwindspeed/"+name+".stacks"); err != nil { t.Fatal(err) }
  fmt.Println(name, r.file.Frames(), own(r, 200, 5))
  stop()
 }
}
