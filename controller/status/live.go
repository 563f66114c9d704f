package status

import "github.com/lifeboat-failover/lifeboat/controller/show"

// Live is the fleet, with each of its failovers to choose.
func Live(all Overview) show.Picture {
	p := show.Picture{
		All: func(p show.Page) { View{Page: p}.Overview(all) },
		One: func(p show.Page, n int) { View{Page: p}.Failover(all.Failovers[n]) },
	}
	for _, f := range all.Failovers {
		p.Names = append(p.Names, f.Cluster)
	}
	return p
}
