/** The kinds of word problems: each draws its numbers so that the answer is a positive whole number. */
import type { Random } from "../../functions/core/clock.ts";
import { integer, pick } from "../random.ts";

export interface Problem {
  readonly question: string;
  /** How it is solved, in words. */
  readonly steps: string;
  /** How it is solved, as one arithmetic expression. */
  readonly expression: string;
  readonly answer: number;
}
/** 1 is one operation, 2 is two or three, 3 is more, or one that must be found by working backwards. */
export type Difficulty = 1 | 2 | 3;
export interface Template {
  readonly kind: string;
  readonly difficulty: Difficulty;
  readonly draw: (random: Random) => Problem;
}

export const people = [
  "Amira",
  "Bruno",
  "Chen",
  "Dalia",
  "Emeka",
  "Freya",
  "Goran",
  "Hana",
  "Ivo",
  "Jun",
  "Kavya",
  "Lars",
];
const goods = ["notebooks", "candles", "mugs", "lamps", "bookmarks", "kites", "jars of honey", "puzzles"];

const shopping: Template = {
  kind: "shopping",
  difficulty: 1,
  draw: (random) => {
    const [name, item, count, price] = [
      pick(random, people),
      pick(random, goods),
      integer(random, 3, 40),
      integer(random, 2, 30),
    ];
    return {
      question: `${name} buys ${count} ${item} at $${price} each. How many dollars does ${name} pay?`,
      steps: `${count} ${item} at $${price} cost ${count} * ${price} = ${count * price} dollars.`,
      expression: `${count} * ${price}`,
      answer: count * price,
    };
  },
};

const giving: Template = {
  kind: "giving",
  difficulty: 1,
  draw: (random) => {
    const [name, item, given, left] = [
      pick(random, people),
      pick(random, goods),
      integer(random, 4, 90),
      integer(random, 2, 90),
    ];
    return {
      question: `${name} had ${given + left} ${item} and gave away ${given} of them. How many does ${name} still have?`,
      steps: `${given + left} - ${given} = ${left} are left.`,
      expression: `${given + left} - ${given}`,
      answer: left,
    };
  },
};

const sharing: Template = {
  kind: "sharing",
  difficulty: 1,
  draw: (random) => {
    const [item, friends, each] = [pick(random, goods), integer(random, 3, 15), integer(random, 3, 40)];
    return {
      question: `A club shares ${friends * each} ${item} equally among its ${friends} members. How many does each member get?`,
      steps: `Each gets ${friends * each} / ${friends} = ${each}.`,
      expression: `${friends * each} / ${friends}`,
      answer: each,
    };
  },
};

const boxes: Template = {
  kind: "boxes",
  difficulty: 2,
  draw: (random) => {
    const [item, count, size, loose] = [
      pick(random, goods),
      integer(random, 4, 25),
      integer(random, 6, 24),
      integer(random, 2, 30),
    ];
    return {
      question: `A stall has ${count} boxes with ${size} ${item} in each, and ${loose} more on the table. How many ${item} are there in all?`,
      steps: `The boxes hold ${count} * ${size} = ${count * size}; with the others it is ${count * size} + ${loose} = ${count * size + loose}.`,
      expression: `${count} * ${size} + ${loose}`,
      answer: count * size + loose,
    };
  },
};

const change: Template = {
  kind: "change",
  difficulty: 2,
  draw: (random) => {
    const [name, count, price, bill] = [
      pick(random, people),
      integer(random, 2, 9),
      integer(random, 2, 10),
      pick(random, [100, 200, 500]),
    ];
    return {
      question: `${name} pays for ${count} tickets at $${price} each with a $${bill} bill. How many dollars of change does ${name} get?`,
      steps: `The tickets cost ${count} * ${price} = ${count * price}; the change is ${bill} - ${count * price} = ${bill - count * price}.`,
      expression: `${bill} - ${count} * ${price}`,
      answer: bill - count * price,
    };
  },
};

const shifts: Template = {
  kind: "shifts",
  difficulty: 2,
  draw: (random) => {
    const [early, late] = [integer(random, 2, 6), integer(random, 2, 6)];
    const [fast, slow] = [integer(random, 31, 60), integer(random, 10, 30)];
    return {
      question: `A machine packs ${fast} parcels an hour for ${early} hours, then ${slow} an hour for ${late} hours. How many parcels does it pack?`,
      steps: `First ${fast} * ${early} = ${fast * early}, then ${slow} * ${late} = ${slow * late}, together ${fast * early + slow * late}.`,
      expression: `${fast} * ${early} + ${slow} * ${late}`,
      answer: fast * early + slow * late,
    };
  },
};

const journey: Template = {
  kind: "journey",
  difficulty: 2,
  draw: (random) => {
    const [speed, hours, left] = [integer(random, 30, 110), integer(random, 2, 7), integer(random, 10, 150)];
    const distance = speed * hours + left;
    return {
      question: `A bus is to drive ${distance} km. It has driven for ${hours} hours at ${speed} km an hour. How many km are left?`,
      steps: `It has driven ${speed} * ${hours} = ${speed * hours} km; ${distance} - ${speed * hours} = ${left} km are left.`,
      expression: `${distance} - ${speed} * ${hours}`,
      answer: left,
    };
  },
};

const fence: Template = {
  kind: "fence",
  difficulty: 2,
  draw: (random) => {
    const [long, wide, price] = [integer(random, 20, 60), integer(random, 4, 19), integer(random, 3, 15)];
    const around = 2 * (long + wide);
    return {
      question: `A garden is ${long} m long and ${wide} m wide. A fence costs $${price} a metre. How many dollars does a fence around it cost?`,
      steps: `Around it is 2 * (${long} + ${wide}) = ${around} m; that costs ${around} * ${price} = ${around * price} dollars.`,
      expression: `2 * (${long} + ${wide}) * ${price}`,
      answer: around * price,
    };
  },
};

export const simpleTemplates: readonly Template[] = [
  shopping,
  giving,
  sharing,
  boxes,
  change,
  shifts,
  journey,
  fence,
];
