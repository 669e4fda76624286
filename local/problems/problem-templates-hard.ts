/** The kinds of word problems that take several steps, or must be worked out backwards. */

import { integer, pick } from "../random.ts";
import { people, type Template } from "./problem-templates.ts";

const discount: Template = {
  kind: "discount",
  difficulty: 3,
  draw: (random) => {
    const [name, count, price, off] = [
      pick(random, people),
      integer(random, 2, 8),
      20 * integer(random, 2, 15),
      5 * integer(random, 1, 9),
    ];
    const reduced = (price * (100 - off)) / 100;
    return {
      question: `A coat costs $${price}; today everything is ${off}% off. How many dollars do ${count} such coats cost ${name} today?`,
      steps: `One costs ${price} * (100 - ${off}) / 100 = ${reduced}; ${count} cost ${count} * ${reduced} = ${count * reduced}.`,
      expression: `${count} * ${price} * (100 - ${off}) / 100`,
      answer: count * reduced,
    };
  },
};

const saving: Template = {
  kind: "saving",
  difficulty: 3,
  draw: (random) => {
    const [name, weekly, weeks, more] = [
      pick(random, people),
      integer(random, 12, 45),
      integer(random, 6, 20),
      integer(random, 2, 9),
    ];
    const price = integer(random, 20, weekly * weeks - 10);
    const answer = weekly * weeks - price + 2 * weekly * more;
    return {
      question:
        `${name} saves $${weekly} a week for ${weeks} weeks and then buys a bicycle for $${price}. After that ${name} saves ` +
        `twice as much a week for ${more} weeks. How many dollars does ${name} have in the end?`,
      steps: `${weekly} * ${weeks} = ${weekly * weeks}, less ${price} is ${weekly * weeks - price}; then 2 * ${weekly} * ${more} = ${2 * weekly * more} more, in all ${answer}.`,
      expression: `${weekly} * ${weeks} - ${price} + 2 * ${weekly} * ${more}`,
      answer,
    };
  },
};

const farm: Template = {
  kind: "farm",
  difficulty: 3,
  draw: (random) => {
    const [hens, goats, sold] = [integer(random, 15, 60), integer(random, 5, 40), integer(random, 2, 14)];
    const answer = (hens - sold) * 2 + goats * 4;
    return {
      question: `A farm has ${hens} hens and ${goats} goats, and sells ${sold} of the hens. How many legs do its animals have together now?`,
      steps: `${hens} - ${sold} = ${hens - sold} hens have ${(hens - sold) * 2} legs, ${goats} goats have ${goats * 4}, together ${answer}.`,
      expression: `(${hens} - ${sold}) * 2 + ${goats} * 4`,
      answer,
    };
  },
};

const average: Template = {
  kind: "average",
  difficulty: 3,
  draw: (random) => {
    const [name, first, second, third] = [
      pick(random, people),
      integer(random, 40, 70),
      integer(random, 40, 70),
      integer(random, 40, 70),
    ];
    const mean = integer(random, 71, 80);
    const answer = 4 * mean - first - second - third;
    return {
      question: `${name} scored ${first}, ${second} and ${third} in three games. What must ${name} score in the fourth for an average of ${mean}?`,
      steps: `Four games at ${mean} are 4 * ${mean} = ${4 * mean} points; ${4 * mean} - ${first} - ${second} - ${third} = ${answer}.`,
      expression: `4 * ${mean} - ${first} - ${second} - ${third}`,
      answer,
    };
  },
};

const recipe: Template = {
  kind: "recipe",
  difficulty: 3,
  draw: (random) => {
    const [few, each, guests, stock] = [
      integer(random, 2, 6),
      5 * integer(random, 8, 30),
      integer(random, 8, 30),
      10 * integer(random, 1, 30),
    ];
    const answer = each * guests - stock;
    return {
      question:
        `A recipe for ${few} people takes ${few * each} g of flour. ${guests} guests are coming and there are ${stock} g in the ` +
        "house. How many more grams are needed?",
      steps: `One person takes ${few * each} / ${few} = ${each} g, ${guests} guests take ${each * guests} g; less ${stock} that is ${answer} g.`,
      expression: `${few * each} / ${few} * ${guests} - ${stock}`,
      answer,
    };
  },
};

const tank: Template = {
  kind: "tank",
  difficulty: 3,
  draw: (random) => {
    const [leak, gain, minutes] = [integer(random, 2, 9), integer(random, 5, 30), integer(random, 6, 60)];
    return {
      question:
        `A pool is filled with ${leak + gain} litres a minute and loses ${leak} litres a minute through a leak. ` +
        `It holds ${gain * minutes} litres. After how many minutes is it full?`,
      steps: `It gains ${leak + gain} - ${leak} = ${gain} litres a minute, so it takes ${gain * minutes} / ${gain} = ${minutes} minutes.`,
      expression: `${gain * minutes} / (${leak + gain} - ${leak})`,
      answer: minutes,
    };
  },
};

export const hardTemplates: readonly Template[] = [discount, saving, farm, average, recipe, tank];
