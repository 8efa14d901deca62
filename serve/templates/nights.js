// SPDX-License-Identifier: Apache-2.0
// Draws the charts of the page.
charts.drawAll(JSON.parse(document.getElementById("data").textContent).charts);
